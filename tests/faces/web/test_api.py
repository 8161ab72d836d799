"""What the API answers, over a board of real tasks and runs."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ralph.app.repositories import remember_repository
from ralph.faces.views import shapes
from ralph.faces.web.repositories import NoSuchRepository, Repositories
from ralph.faces.web.routes import ENDPOINTS
from ralph.model.events import IterationStarted, RunStarted, Said, ToolStarted
from ralph.model.spec import ROLES
from ralph.process.lock import WorkTreeLock
from support.board_room import BoardFixture
from support.web_room import BEARER, WebFixture

API = "/api/v1"


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoardFixture]:
    room = BoardFixture(tmp_path_factory.mktemp("api"))
    room.put("Add a login", "Fix the race", "Export as CSV", "Write the manual")
    room.begin("20261101-100000-aaaa", "TASK-001", pid=room.living())
    room.iterate("TASK-001", 2)
    room.tell(
        "20261101-100000-aaaa",
        RunStarted(run="20261101-100000-aaaa", agent="claude", limit=15),
        IterationStarted(2, 15, "coder TASK-001"),
        Said("looking at the login form"),
        ToolStarted(id="1", name="Bash", summary="pytest -q"),
    )
    run_dir = Path(room.places.run_dir("20261101-100000-aaaa"))
    (run_dir / "guardrail_001_tests.log").write_text("\x1b[31m2 failed\x1b[0m\n")
    (run_dir / "link.log").symlink_to("/etc/passwd")
    room.finish("TASK-002", "20261101-090000-bbbb")
    room.block("TASK-003", "needs a key")
    yield room
    room.close()


@pytest.fixture(scope="module")
def web(room: BoardFixture) -> Iterator[WebFixture]:
    server = WebFixture(room.places)
    yield server
    server.close()


RUN = f"{API}/runs/20261101-100000-aaaa"
READS = {
    f"{API}/session": shapes.SessionAnswer,
    f"{API}/repositories": shapes.RepositoriesAnswer,
    f"{API}/board": shapes.BoardAnswer,
    f"{API}/runs?limit=1": shapes.RunsAnswer,
    RUN: shapes.RunAnswer,
    f"{RUN}/log?q=LOGIN": shapes.LogAnswer,
    f"{RUN}/outputs/guardrail_001_tests.log": shapes.OutputAnswer,
    f"{API}/tasks/TASK-001": shapes.TaskAnswer,
    f"{API}/stories": shapes.StoriesAnswer,
    f"{API}/costs?by=agent&since=all": shapes.CostsAnswer,
    f"{API}/search?q=login": shapes.SearchAnswer,
}


@pytest.mark.parametrize("path", READS)
def test_answers_are_of_the_type_that_is_documented(web: WebFixture, path: str) -> None:
    answer = web.get(path)
    assert answer.status == 200, answer.body
    msgspec.json.decode(answer.body, type=READS[path])


def test_the_board_has_every_card_with_its_state_in_words(web: WebFixture) -> None:
    board = web.get(f"{API}/board").json
    cards = {card["id"]: card for card in board["cards"]}
    assert cards["TASK-001"]["lane"] == "coder"
    assert cards["TASK-001"]["run"] == "20261101-100000-aaaa"
    assert cards["TASK-002"]["tone"] == "done"
    assert cards["TASK-003"]["reason"] == "needs a key"
    assert (board["head"]["running"], board["head"]["done"], board["head"]["total"]) == (1, 1, 4)
    assert [run["task"] for run in board["runs"]] == ["TASK-001"]
    assert "looking at the login form" in [line["text"] for line in board["lines"]]


def test_a_run_has_its_log_and_outputs_as_plain_text(web: WebFixture) -> None:
    shown = web.get(RUN).json
    assert [file["name"] for file in shown["outputs"]] == ["guardrail_001_tests.log"]
    assert web.get(f"{RUN}/outputs/guardrail_001_tests.log").json["text"] == "2 failed\n"
    assert [line["text"] for line in web.get(f"{RUN}/log?q=LOGIN").json["lines"]] == ["looking at the login form"]
    first = web.get(f"{RUN}/log?after=0&limit=2").json
    assert (len(first["lines"]), first["more"]) == (2, True)
    rest = web.get(f"{RUN}/log?after={first['next']}").json
    assert ("pytest -q" in rest["lines"][-1]["text"], rest["more"]) == (True, False)


MISSING = """
    runs/none tasks/none runs/none/diff runs/none/log board?repository=none events?repository=none
    runs/20261101-100000-aaaa/outputs/link.log runs/20261101-100000-aaaa/outputs/events.ndjson
""".split()
SENSELESS = """
    costs?by=moon costs?since=soon runs?limit=many board?wait=-1 runs/20261101-100000-aaaa/diff?from=2&to=1
""".split()


@pytest.mark.parametrize("path", MISSING)
def test_what_is_not_there_is_not_found(web: WebFixture, path: str) -> None:
    answer = web.get(f"{API}/{path}")
    assert answer.status == 404
    assert answer.json["error"]["message"]


@pytest.mark.parametrize(
    "path",
    [
        "costs?by=moon",
        "costs?since=soon",
        "runs?limit=many",
        "board?wait=-1",
        "runs/20261101-100000-aaaa/diff?from=2&to=1",
    ],
)
def test_a_question_that_makes_no_sense_is_told(web: WebFixture, path: str) -> None:
    answer = web.get(f"{API}/{path}")
    assert answer.status == 400
    assert answer.json["error"]["hint"]


def test_runs_can_be_asked_for_by_what_they_are(web: WebFixture) -> None:
    def ids(query: str) -> list[str]:
        return [run["id"] for run in web.get(f"{API}/runs?{query}").json["runs"]]

    assert ids("active=1") == ["20261101-100000-aaaa"]
    assert ids("task=TASK-002") == ["20261101-090000-bbbb"]
    assert ids("kind=story") == []
    first = web.get(f"{API}/runs?limit=1").json
    assert first["more"]
    assert ids(f"before={first['runs'][0]['started_at']}") == [
        id_ for id_ in ids("limit=9") if id_ != first["runs"][0]["id"]
    ]


def test_who_waits_for_what_is_over_is_answered_at_once_and_others_when_their_time_is_up(web: WebFixture) -> None:
    began = time.monotonic()
    assert web.get(f"{API}/tasks/TASK-002?wait=30").json["card"]["status"] == "done"
    assert web.get(f"{API}/runs/20261101-090000-bbbb?wait=30").json["run"]["outcome"] == "completed"
    assert web.get(f"{RUN}?wait=0.1").json["run"]["active"]
    version = web.get(f"{API}/board").json["version"]
    assert web.get(f"{API}/board?wait=0.3&after={version}").json["version"] == version
    assert time.monotonic() - began < 10


def test_many_who_wait_hold_nobody_up(web: WebFixture) -> None:
    head = f"GET {RUN}?wait=20 HTTP/1.1\r\nHost: {web.host}\r\nAuthorization: Bearer {BEARER}\r\n\r\n"
    waiting = [socket.create_connection(("127.0.0.1", web.port)) for _ in range(40)]
    for each in waiting:
        each.sendall(head.encode())
    began = time.monotonic()
    assert web.get(f"{API}/runs").status == 200
    assert time.monotonic() - began < 10
    for each in waiting:
        each.close()


def test_tasks_are_made_and_changed_and_tried_again(web: WebFixture, room: BoardFixture) -> None:
    verified: dict[str, object] = {"promise": "X", "description": "d", "verification_method": "external"}
    stages = {str(role): {**verified, "verification_config": {"command": "true"}} for role in ROLES}
    completion: dict[str, object] = {"outcome": "it works", "acceptance_criteria": ["it does"], **stages}
    new = {"id": "TASK-100", "spec_id": "auth", "title": "<script>alert(1)</script>", "completion": completion}
    made = web.post(f"{API}/tasks", new)
    assert made.json == {"message": "Created task TASK-100.", "id": "TASK-100"}
    assert web.get(f"{API}/tasks/TASK-100").json["card"]["title"] == "<script>alert(1)</script>"
    assert web.post(f"{API}/tasks", new).status == 400  # the name is taken
    changed = web.post(f"{API}/tasks/TASK-004", {"title": "Write it down", "priority": 7}, method="PATCH")
    assert changed.status == 200, changed.body
    task = room.tasks.get("TASK-004").task
    assert (task.title, task.priority) == ("Write it down", 7)
    assert web.post(f"{API}/tasks/TASK-004", {}, method="PATCH").status == 400
    assert web.post(f"{API}/tasks/TASK-004", {"status": "done"}, method="PATCH").status == 400
    assert web.post(f"{API}/tasks/TASK-003/retry", {}).status == 200
    assert room.tasks.get("TASK-003").task.status == "todo"
    room.block("TASK-003", "needs a key")
    assert web.post(f"{API}/tasks/TASK-002/retry", {}).status == 400


def test_the_first_task_of_a_repository_brings_its_spec_along(tmp_path: Path) -> None:
    room = BoardFixture(tmp_path)
    server = WebFixture(room.places)
    task = {"id": "T-1", "title": "x", "spec_id": "main", "completion": {"outcome": "x", "acceptance_criteria": ["x"]}}
    refused = server.post(f"{API}/tasks", {**task, "dependencies": ["T-7"]})
    assert refused.status == 400
    assert server.get(f"{API}/session").json["specs"] == []  # all or nothing
    assert server.post(f"{API}/tasks", task).json["id"] == "T-1"
    assert server.get(f"{API}/session").json["specs"] == ["main"]
    server.close()
    room.close()


def test_a_task_is_paused_told_something_and_resumed(web: WebFixture) -> None:
    assert web.post(f"{API}/tasks/TASK-001/pause", {}).json["id"] == "TASK-001"
    assert web.get(RUN).json["run"]["paused_by"] == "tester (web)"
    board = web.get(f"{API}/board").json
    assert [card["paused_by"] for card in board["cards"] if card["id"] == "TASK-001"] == ["tester (web)"]
    assert [run["paused_by"] for run in board["runs"] if run["task"] == "TASK-001"] == ["tester (web)"]
    assert web.post(f"{API}/runs/20261101-100000-aaaa/note", {"text": "use argon2"}).status == 200
    (note,) = web.get(f"{API}/tasks/TASK-001").json["notes"]
    assert (note["text"], note["author"], note["heard"]) == ("use argon2", "tester (web)", False)
    assert web.post(f"{API}/tasks/TASK-001/resume", {}).status == 200
    assert web.post(f"{API}/tasks/TASK-001/resume", {}).status == 400
    assert web.post(f"{API}/tasks/TASK-001/answer", {"text": "42"}).status == 400  # nobody asked
    assert web.post(f"{API}/tasks/TASK-001/note", {"text": " "}).status == 400
    assert web.post(f"{API}/tasks/TASK-001/cancel", {"gently": True}).status == 400
    assert web.post(f"{API}/runs/20261101-090000-bbbb/cancel", {"gently": True}).status == 404  # it has ended
    assert web.post(f"{API}/executes/stop", {"how": "now"}).status == 404  # no execute has the lock
    assert web.post(f"{API}/executes/stop", {"how": "whenever"}).status == 400


def test_all_tasks_of_an_execute_are_paused_and_resumed_at_once(web: WebFixture, room: BoardFixture) -> None:
    assert web.post(f"{API}/executes/pause", {}).status == 404  # no execute has the lock
    crew = WorkTreeLock(room.places.execute_lock)
    assert crew.acquire("execute") is None
    assert web.post(f"{API}/executes/pause", {}).status == 200
    board = web.get(f"{API}/board").json
    assert board["head"]["paused_by"] == "tester (web)"
    assert {card["paused_by"] for card in board["cards"] if card["status"] == "in_progress"} == {"tester (web)"}
    refused = web.post(f"{API}/tasks/TASK-001/resume", {})
    assert (refused.status, "ralph resume" in refused.json["error"]["hint"]) == (400, True)
    assert web.post(f"{API}/executes/resume", {}).status == 200
    assert web.get(f"{API}/board").json["head"]["paused_by"] == ""
    assert web.post(f"{API}/executes/resume", {}).status == 400
    crew.release()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"kind": "run", "prompt": " "},
        {"kind": "moon", "prompt": "x"},
        {"prompt": "x", "agent": "sh -c 'echo mine'"},
        {"prompt": "x", "max_iterations": 0},
        {"prompt": "x", "budget_usd": -1},
        {"kind": "run", "resume": "../../etc"},
        {"kind": "execute", "tasks": ["--help"]},
        {"prompt": "x" * 200_000},
        {"prompt": "a\0b"},
        {"prompt": "x", "shell": "true"},
    ],
    ids=lambda body: str(body)[:40],
)
def test_a_start_that_makes_no_sense_is_refused(web: WebFixture, body: object) -> None:
    answer = web.post(f"{API}/runs", body)
    assert answer.status == 400, answer.body


def test_another_link_logs_another_browser_in(web: WebFixture) -> None:
    link = web.post(f"{API}/links", {}).json["url"]
    assert web.ask("GET", link.removeprefix(f"http://{web.host}")).status == 303


def test_the_description_names_every_route_and_every_type_it_speaks_of(web: WebFixture) -> None:
    found = web.get(f"{API}/openapi.json").json
    told = {(method.upper(), path) for path, methods in found["paths"].items() for method in methods}
    assert told == {(each.method, f"{API}/{each.path}") for each in ENDPOINTS} | {("GET", f"{API}/events")}
    text = msgspec.json.encode(found).decode()
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= found["components"]["schemas"].keys()
    assert {"BoardAnswer", "RunAnswer", "CardView", "ErrorAnswer"} <= names


def test_the_page_about_the_api_names_every_route() -> None:
    page = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
    assert [each.path for each in ENDPOINTS if f"`{each.path}`" not in page] == []


def test_the_metrics_are_of_prometheus_form(web: WebFixture) -> None:
    answer = web.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.body.decode().splitlines() if not line.startswith("#")]
    assert any(line.startswith("ralph_runs_active{") and line.endswith('kind="execute"} 1') for line in lines)
    assert any('status="blocked"} 1' in line for line in lines)
    for line in lines:
        float(line.rpartition(" ")[2])


def test_the_page_is_behind_the_gate_and_has_no_inline_script(web: WebFixture) -> None:
    page = web.get("/").body.decode()
    assert "<script" in page
    assert "onclick" not in page
    assert all("src=" in part.partition(">")[0] for part in page.split("<script")[1:])


def test_all_repositories_of_the_machine_are_shown_where_that_was_asked_for(room: BoardFixture, tmp_path: Path) -> None:
    other = BoardFixture(tmp_path)
    other.put("Something else")
    variables = {"XDG_STATE_HOME": str(tmp_path / "state")}
    remember_repository(room.places, variables)
    remember_repository(other.places, variables)
    everywhere = Repositories(room.places, variables, shows_all=True)
    here, there = everywhere.describe().repositories
    assert (here.here, here.running, there.here, there.tasks) == (True, 1, False, 1)
    assert here.key != there.key  # both folders have the same name
    assert everywhere.find(there.key).root == other.places.root
    with pytest.raises(NoSuchRepository) as told:
        Repositories(room.places, variables, shows_all=False).find(there.key)
    assert "--all" in told.value.hint
