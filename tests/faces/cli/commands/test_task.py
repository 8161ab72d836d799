"""`ralph task`, as people and programs use it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ralph.app.board.tasks import create_task, open_board
from ralph.app.paths import find_paths
from ralph.core.policies.staged import NO_PROMISE_REASON
from ralph.faces.cli.commands.task import command
from ralph.faces.cli.pages.task_graph import MAX_GRAPH_DEPTH, TaskGraph
from ralph.faces.cli.pages.task_list import fit_to_terminal
from ralph.model.board import (
    Attempted,
    Blocked,
    CostRecorded,
    GaveUp,
    IllegalMove,
    InvalidInput,
    IterationBegun,
    IterationEnded,
    NoSuchTask,
    SentBack,
    Spec,
    StageEntered,
    StagePassed,
    TaskCard,
    TaskLanded,
)
from ralph.model.errors import RalphError, UsageError
from ralph.model.spec import VerificationAttempt

DONE = ("--outcome", "It works", "--acceptance", "a")


@pytest.fixture(autouse=True)
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a spec `auth`."""
    monkeypatch.chdir(tmp_path)
    with open_board(find_paths(str(tmp_path))) as tasks:
        tasks.specs.add_new(Spec(id="auth", title="Auth"))
    return tmp_path


def ralph_task(*words: object, stdin: str = "") -> Result:
    result = CliRunner().invoke(command, [str(word) for word in words], input=stdin)
    if isinstance(result.exception, RalphError):
        raise result.exception
    assert not isinstance(result.exception, Exception) or isinstance(result.exception, SystemExit), result.exception
    return result


def answered(*words: object) -> Any:
    return json.loads(ralph_task(*words, "--json").output)


def create(id_: str, *words: object) -> None:
    assert ralph_task("create", id_, "auth", f"Do {id_}", *DONE, *words).exit_code == 0


def test_the_seeds_command_makes_the_task(repo: Path) -> None:  # 002-13
    ralph_task(
        *("create", "TASK-001", "auth", "Implement JWT auth"),
        *("--outcome", "All API endpoints require valid JWT tokens"),
        *("--acceptance", "JWT middleware validates tokens"),
        *("--acceptance", "Login endpoint returns valid JWT"),
        *("--acceptance", "Invalid tokens return 401"),
        *("--coder-promise", "AUTH_IMPLEMENTED"),
        *("--coder-verify", "external"),
        *("--coder-verify-cmd", "grep -r 'jwt.verify' src/"),
        *("--tester-promise", "AUTH_TESTS_PASS"),
        *("--tester-verify", "external"),
        *("--tester-verify-cmd", "pytest tests/test_auth.py --cov-fail-under=80"),
    )
    task = answered("show", "TASK-001")["task"]
    assert (task["title"], task["status"], task["spec_id"], task["priority"]) == (
        "Implement JWT auth",
        "todo",
        "auth",
        2,
    )
    spec = task["completion_spec"]
    assert spec["acceptance_criteria"] == [
        "JWT middleware validates tokens",
        "Login endpoint returns valid JWT",
        "Invalid tokens return 401",
    ]
    assert spec["coder"] == {
        "promise": "AUTH_IMPLEMENTED",
        "description": "Complete coder stage for: Implement JWT auth",
        "verification_method": "external",
        "verification_config": {"command": "grep -r 'jwt.verify' src/"},
        "max_iterations": None,
    }
    assert spec.keys() == {"outcome", "acceptance_criteria", "coder", "tester"}


def test_every_agent_has_every_option_under_each_of_its_names() -> None:  # 002-13, C14
    for role in ("coder", "reviewer", "tester", "qa"):
        create(
            f"T-{role}",
            *(f"--{role}-promise", "P", f"--{role}-verification", "external", f"--{role}-command", "make"),
            *(f"--{role}-verify-config", '{"timeout": 5}', f"--{role}-max-iterations", 7, f"--{role}-description", "D"),
            *("--acceptance-criteria", "b", "--max-iterations", 3),
        )
        spec = answered("show", f"T-{role}")["task"]["completion_spec"]
        assert spec["acceptance_criteria"] == ["a", "b"]
        assert spec[role] == {
            "promise": "P",
            "description": "D",
            "verification_method": "external",
            "verification_config": {"timeout": 5, "command": "make"},
            "max_iterations": 7,
        }
        assert {spec[other]["max_iterations"] for other in {"coder", "reviewer", "tester", "qa"} - {role}} == {3}


def test_options_of_the_verification_come_as_json_or_from_a_file(repo: Path) -> None:  # 002-13
    stages = {"stages": [{"name": "unit", "method": "external", "config": {"command": "pytest"}}]}
    (repo / "qa.json").write_text(json.dumps(stages))
    create("T-1", "--qa-verify", "multi_stage", "--qa-verify-config", "@qa.json")
    create("T-2", "--qa-verify", "multi_stage", "--verify-config", json.dumps(stages))
    create("T-3", "--verify-config", json.dumps({"qa": stages, "coder": {"command": "make"}}))
    for id_ in ("T-1", "T-2", "T-3"):
        qa = answered("show", id_)["task"]["completion_spec"]["qa"]
        assert (qa["verification_method"], qa["verification_config"]) == ("multi_stage", stages)
    assert answered("show", "T-3")["task"]["completion_spec"]["coder"]["verification_method"] == "external"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--outcome", "x"], "needs at least one acceptance criterion"),
        (["--acceptance", "x"], "needs an outcome"),
        (["--outcome", " ", "--acceptance", "x"], "needs an outcome"),
        ([*DONE, "--coder-verify", "external"], "coder: No command specified for external verification"),
        ([*DONE, "--qa-verify", "multi_stage"], "qa: No stages specified"),
        ([*DONE, "--qa-verify", "magic"], "qa: no verification method 'magic'"),
        ([*DONE, "--coder-promise", "<promise>X</promise>"], "coder: the promise is the text inside the tag"),
        ([*DONE, "--coder-verify-cmd", "make", "--coder-verify-config", '{"timout": 3}'], "unknown field `timout`"),
        ([*DONE, "--depends-on", "T-9"], "depends on 'T-9', which is not there"),
        ([*DONE, "--depends-on", "T-1"], "T-1 → T-1"),
        ([*DONE, "--coder-verify-config", "{"], "--coder-verify-config: "),
        ([*DONE, "--coder-verify-config", "@gone.json"], "cannot read 'gone.json'"),
        ([*DONE, "--verify-config", '{"command": "x"}'], "does not say which agent"),
        ([*DONE, "--verify-config", '{"boss": {}, "qa": {}}'], "'boss'"),
    ],
)
def test_criteria_are_demanded_and_checked_at_creation(words: list[str], told: str) -> None:  # 002-13, C15
    with pytest.raises(RalphError, match=told.replace("[", "\\[")) as refused:
        ralph_task("create", "T-1", "auth", "Do it", *words)
    assert refused.value.exit_code == 2
    assert refused.value.hint
    assert answered("list")["tasks"] == []


def test_no_way_of_making_a_task_goes_without_criteria(repo: Path) -> None:  # C15
    with pytest.raises(InvalidInput, match="needs an outcome"):
        create_task(find_paths(str(repo)), {"id": "T-1", "spec_id": "auth", "title": "Do it"})


def test_an_unknown_spec_is_refused_by_name_with_the_way_out() -> None:  # §3-16
    with pytest.raises(InvalidInput, match="no spec 'pay'") as refused:
        ralph_task("create", "T-1", "pay", "Do it", *DONE)
    assert "ralph spec create pay" in refused.value.hint


def test_a_name_that_is_taken_or_unusable_is_refused() -> None:
    create("T-1")
    with pytest.raises(InvalidInput, match="there is a task 'T-1' already"):
        create("T-1")
    for name in ("../x", "a b", "x.lock", "a..b", "x" * 101, ""):
        with pytest.raises(InvalidInput, match="id"):
            create(name)
    assert [task["id"] for task in answered("list")["tasks"]] == ["T-1"]


def test_a_followup_waits_for_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:  # 002-13
    create("T-1")
    ralph_task("followup", "T-2", "auth", "More", *DONE, "--parent", "T-1", "--category", "tech-debt")
    monkeypatch.setenv("RALPH_TASK", "T-2")
    ralph_task("followup", "T-3", "auth", "Even more", *DONE, "--independent", "--coder-promise", "P")
    second, third = answered("show", "T-2")["task"], answered("show", "T-3")["task"]
    assert (second["depends_on"], second["metadata"]) == (["T-1"], {"category": "tech-debt", "followup_of": "T-1"})
    assert (third["depends_on"], third["metadata"], third["priority"]) == ([], {"followup_of": "T-2"}, 3)
    assert third["completion_spec"]["coder"]["promise"] == "P"
    with pytest.raises(InvalidInput, match="needs an outcome"):
        ralph_task("followup", "T-4", "auth", "Nothing said")
    with pytest.raises(NoSuchTask, match="T-9"):
        ralph_task("followup", "T-4", "auth", "Lost", *DONE, "--parent", "T-9")


def lived(id_: str) -> None:
    """A task with a past: tried, verified, sent back, given up."""
    with open_board(find_paths(os.getcwd())) as tasks:
        tasks.claim("run-1", among=[id_])
        no = VerificationAttempt(
            iteration=1,
            promise_found=True,
            verified=False,
            reason="Command exited with 1, expected 0",
            timestamp="2024-01-15T10:30:00Z",
            agent="coder",
            method="external",
            digest="ab" * 32,
        )
        yes = VerificationAttempt(
            iteration=2,
            promise_found=True,
            verified=True,
            reason="External verification passed",
            timestamp="2024-01-15T10:35:00Z",
            agent="coder",
            method="external",
        )
        tasks.apply(
            [
                IterationBegun(task=id_, stage="coder", iteration=1, max_iterations=15, completion_promise="P", at=1.0),
                Attempted(id_, no),
                IterationEnded(
                    task=id_,
                    stage="coder",
                    iteration=1,
                    max_iterations=15,
                    promise_found=False,
                    continuing=True,
                    duration_ms=500,
                    at=1.0,
                    outcome="finished",
                    reason=NO_PROMISE_REASON,
                ),
                Attempted(id_, yes),
                CostRecorded(task=id_, stage="coder", iteration=1, at=1.0, cost_usd=1.25),
                StagePassed(id_, "coder"),
                StageEntered(id_, "reviewer"),
                SentBack(id_, "Rename it\nand test it", 1.0),
                GaveUp(task=id_, iterations_used=15, last_output="bye"),
            ],
            "lived",
        )


def test_show_tells_the_criteria_and_every_attempt() -> None:  # 002-25, 000-22
    create("T-1", "--coder-verify-cmd", "pytest -q", "--coder-max-iterations", 4, "--description", "More\nabout it")
    lived("T-1")
    shown = ralph_task("show", "T-1").output
    assert shown.splitlines()[:2] == ["T-1  Do T-1", "  spec auth · priority 2 · todo"]
    for line in (
        "  about it",
        "  It works",
        "  - [ ] a",
        "coder: IMPLEMENTATION_COMPLETE · verified by external · at most 4 iterations (by the task)",
        "    command: pytest -q",
        "reviewer: REVIEW_PASSED (default) · verified by semantic · at most 5 iterations (by settings)",
        "  ✗ coder 1  2024-01-15T10:30:00Z  external: Command exited with 1, expected 0",
        "  ✓ coder 2  2024-01-15T10:35:00Z  external: External verification passed",
        "Last failure (coder, 15 iterations): Max iterations reached without completion promise",
        "Sent back by reviewer at 1970-01-01T00:00:01Z",
        "  and test it",
        "  coder 1/15  finished · No completion promise found · 0.5s · $1.25",
        "Spent $1.25 in 1 iteration",
    ):
        assert line in shown.splitlines()


def test_show_tells_what_was_verified_otherwise_or_by_hand() -> None:  # 002-24, 002-25
    create("T-1")
    note = "semantic verification failed, string_match instead for this iteration: it crashed"
    found = VerificationAttempt(
        iteration=0,
        promise_found=True,
        verified=True,
        reason="Promise found in output",
        timestamp="now",
        agent="qa",
        method="semantic",
        notes=(note,),
    )
    with open_board(find_paths(os.getcwd())) as tasks:
        tasks.apply([Attempted("T-1", found)], "found")
    shown = ralph_task("show", "T-1").output.splitlines()
    at = shown.index("  ✓ qa manual  now  semantic: Promise found in output")
    assert shown[at + 1] == f"      {note}"


def test_show_gives_programs_everything() -> None:  # 002-18, 000-16
    create("T-1")
    lived("T-1")
    shown = answered("show", "T-1")
    assert [(a["iteration"], a["verified"], a["promise_found"]) for a in shown["attempts"]] == [
        (1, False, True),
        (2, True, True),
    ]
    assert shown["iterations"][0]["ralph_max"] == 15
    assert shown["spent"]["cost_usd"] == 1.25
    assert shown["criteria"]["qa"]["promise"] == "QA_PASSED"
    assert shown["task"]["metadata"]["ralph_failure"]["iterations_used"] == 15
    with pytest.raises(NoSuchTask, match="T-9"):
        ralph_task("show", "T-9")


def test_a_task_without_criteria_says_so_and_how_to_change_that(repo: Path) -> None:  # C15
    (repo / "old.yaml").write_text("- {id: T-1, title: Old, spec: auth}\n")
    result = ralph_task("import", "old.yaml")
    assert "warning: old.yaml:1: task 'T-1' has no completion criteria" in result.stderr
    shown = ralph_task("show", "T-1").output
    assert "No completion criteria" in shown
    assert "coder: IMPLEMENTATION_COMPLETE (default) · verified by semantic" in shown
    ralph_task("edit", "T-1", *DONE)
    assert "verified by string_match" not in ralph_task("show", "T-1").output


def test_edit_changes_what_it_is_given(repo: Path) -> None:
    create("T-0")
    create("T-1", "--coder-promise", "P", "--coder-verify-cmd", "make", "--coder-max-iterations", 4)
    ralph_task(
        "edit", "T-1", "--title", "New", "--priority", 0, "--depends-on", "T-0", "--acceptance", "c", "--assignee", "me"
    )
    task = answered("edit", "T-1", "--coder-verify", "semantic", "--coder-verify-config", '{"check_for": ["x"]}')
    assert (task["title"], task["priority"], task["depends_on"], task["assignee"]) == ("New", 0, ["T-0"], "me")
    assert task["completion_spec"] == {
        "outcome": "It works",
        "acceptance_criteria": ["c"],
        "coder": {
            "promise": "P",
            "description": "Complete coder stage for: Do T-1",
            "verification_method": "semantic",
            "verification_config": {"check_for": ["x"]},
            "max_iterations": 4,
        },
    }
    assert answered("edit", "T-1", "--no-depends-on")["depends_on"] == []
    again = answered("edit", "T-1", "--coder-verify-cmd", "make test")["completion_spec"]["coder"]
    assert (again["verification_method"], again["verification_config"]) == ("external", {"command": "make test"})
    again = answered("edit", "T-1", "--coder-verify", "semantic")["completion_spec"]["coder"]
    assert again["verification_config"] == {"check_for": "{{acceptance_criteria}}"}


def test_status_changes_go_through_the_rules() -> None:  # §3-15
    create("T-1")
    assert (
        answered("edit", "T-1", "--status", "blocked", "--reason", "no key")["metadata"]["blocked"]["reason"]
        == "no key"
    )
    assert "Blocked: no key" in ralph_task("show", "T-1").output
    assert answered("edit", "T-1", "--status", "todo")["status"] == "todo"
    assert answered("edit", "T-1", "--status", "cancelled")["status"] == "cancelled"
    with pytest.raises(UsageError, match="only the pipeline makes a task done"):
        ralph_task("edit", "T-1", "--status", "done")
    with pytest.raises(UsageError, match="nothing to change"):
        ralph_task("edit", "T-1")
    ralph_task("edit", "T-1", "--status", "todo")
    with open_board(find_paths(os.getcwd())) as tasks:
        tasks.claim("run-1")
    with pytest.raises(IllegalMove, match="in progress: it cannot be edited"):
        ralph_task("edit", "T-1", "--title", "x")
    with pytest.raises(UsageError, match="in progress"):
        ralph_task("edit", "T-1", "--status", "cancelled")
    with open_board(find_paths(os.getcwd())) as tasks:
        tasks.apply([StagePassed("T-1", "coder"), TaskLanded("T-1")], "done")
    with pytest.raises(IllegalMove, match="is done: it cannot be edited") as refused:
        ralph_task("edit", "T-1", "--outcome", "more")
    assert "followup" in refused.value.hint


def test_a_bad_edit_changes_nothing() -> None:
    create("T-1")
    for words in (["--title", " "], ["--coder-verify", "external"], ["--depends-on", "T-9"], ["--outcome", ""]):
        with pytest.raises(InvalidInput):
            ralph_task("edit", "T-1", "--priority", 9, *words)
    assert answered("show", "T-1")["task"]["priority"] == 2


def test_delete_spares_what_has_a_history() -> None:
    create("T-1")
    create("T-2", "--depends-on", "T-1")
    with pytest.raises(InvalidInput, match="needed by T-2"):
        ralph_task("delete", "T-1")
    assert answered("delete", "T-2") == {"deleted": "T-2"}
    lived("T-1")
    with pytest.raises(UsageError, match="2 verification attempts"):
        ralph_task("delete", "T-1")
    assert ralph_task("delete", "T-1", "--force").output == "Deleted task T-1\n"
    assert answered("list")["tasks"] == []


def test_list_shows_work_first_then_what_is_ready_then_what_waits() -> None:
    create("T-wait", "--priority", 0)
    create("T-blocked")
    create("T-low", "--priority", 3)
    create("T-work", "--priority", 1)
    ralph_task("edit", "T-wait", "--depends-on", "T-low", "--depends-on", "T-blocked")
    with open_board(find_paths(os.getcwd())) as tasks:
        tasks.claim("run-1", among=["T-work"])
        tasks.apply(
            [
                IterationBegun(
                    task="T-work", stage="coder", iteration=3, max_iterations=15, completion_promise="P", at=1.0
                ),
                Blocked("T-blocked", "why"),
            ],
            "k",
        )
    assert ralph_task("list").output.splitlines() == [
        "● T-work     cut off at coder 3/15  p1  Do T-work",  # there is no such run
        "○ T-low      todo                   p3  Do T-low",
        "○ T-wait     waits for T-low +1     p0  Do T-wait",
        "‖ T-blocked  blocked                p2  Do T-blocked  (why)",
        "4 tasks: 1 in progress, 2 todo, 1 blocked; 1 ready",
    ]
    assert [t["id"] for t in answered("list", "--ready")["tasks"]] == ["T-low"]
    assert [t["id"] for t in answered("list", "--status", "blocked", "--status", "todo")["tasks"]] == [
        "T-low",
        "T-wait",
        "T-blocked",
    ]
    assert answered("list", "--spec", "pay")["tasks"] == []
    listed = answered("list")
    assert listed["counts"] == {"in_progress": 1, "todo": 2, "blocked": 1}
    assert listed["tasks"][2]["waits_for"] == ["T-low", "T-blocked"]


def test_a_long_list_is_cut_for_people_and_whole_for_programs(repo: Path) -> None:
    task = "{{id: T-{n:03}, title: x, completion: {{outcome: o, acceptance_criteria: [a]}}}}"
    (repo / "many.yaml").write_text("".join(f"- {task.format(n=n)}\n" for n in range(60)))
    assert ralph_task("import", "many.yaml").output == (
        "Imported T-000, T-001, T-002, T-003, T-004 and 55 more. See `ralph task list`.\n"
    )
    lines = ralph_task("list").output.splitlines()
    assert (len(lines), lines[-2]) == (52, "… 10 more: --limit N, --all")
    assert len(ralph_task("list", "--all").output.splitlines()) == 61
    assert len(ralph_task("list", "-n", 3).output.splitlines()) == 5
    assert len(answered("list")["tasks"]) == 60
    assert (len(answered("list", "-n", 3)["tasks"]), answered("list", "-n", 3)["matching"]) == (3, 60)


def test_import_reads_standard_input_and_tells_what_it_cannot_read(repo: Path) -> None:
    text = "- {id: T-1, title: x, completion: {outcome: o, acceptance_criteria: [a]}}\n"
    assert (
        ralph_task("import", "-", "--spec", "pay", "--json", stdin=text).output == '{"tasks":["T-1"],"specs":["pay"]}\n'
    )
    (repo / "bin").write_bytes(b"\xff\xfe")
    for file, told in (("gone.yaml", "cannot read 'gone.yaml'"), (".", "cannot read '.'"), ("bin", "not UTF-8")):
        with pytest.raises(UsageError, match=told):
            ralph_task("import", file)


def test_nothing_but_text_reaches_the_terminal() -> None:
    ralph_task("create", "T-1", "auth", "\x1b[2Jred\nline", *DONE, "--description", "\x1b]0;x\x07text")
    for words in (["list"], ["show", "T-1"], ["graph"]):
        assert "\x1b" not in ralph_task(*words).output
    assert len(ralph_task("list").output.splitlines()) == 2
    assert fit_to_terminal("a\tb") == "a\tb"


def test_looking_creates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "empty"
    subprocess.run(["git", "init", "-q", str(empty)], check=True)
    monkeypatch.chdir(empty)
    assert "No tasks here yet" in ralph_task("list").output
    assert "No tasks here yet" in ralph_task("graph").output
    assert answered("list") == {"tasks": [], "matching": 0, "counts": {}}
    assert answered("loops") == {"loops": []}
    for words in (["show", "T-1"], ["edit", "T-1", "--title", "x"], ["delete", "T-1"], ["cancel", "T-1"]):
        with pytest.raises(NoSuchTask, match="'T-1'"):
            ralph_task(*words)
    assert not (empty / ".git" / "ralph").exists()


def test_the_graph_reads_down_in_the_order_of_work() -> None:
    create("T-1")
    create("T-2", "--depends-on", "T-1")
    create("T-3", "--depends-on", "T-1,T-2")
    create("T-4", "--depends-on", "T-3")
    create("T-5")
    assert ralph_task("graph").output.splitlines() == [
        "○ T-1  Do T-1",
        "├─ ○ T-2  Do T-2",
        "│  └─ ○ T-3  Do T-3",
        "│     └─ ○ T-4  Do T-4",
        "└─ ○ T-3  Do T-3 …above",
        "○ T-5  Do T-5",
    ]
    assert ralph_task("graph", "T-2").output.splitlines()[0] == "○ T-1  Do T-1"
    assert "T-5" not in ralph_task("graph", "T-2").output
    assert answered("graph", "T-2")["edges"] == [
        {"from": "T-1", "to": "T-2"},
        {"from": "T-1", "to": "T-3"},
        {"from": "T-2", "to": "T-3"},
        {"from": "T-3", "to": "T-4"},
    ]
    assert '  "T-1" -> "T-3";' in ralph_task("graph", "--dot").output.splitlines()
    with pytest.raises(NoSuchTask, match="T-9"):
        ralph_task("graph", "T-9")


def test_a_very_long_chain_is_cut_where_nobody_reads_on() -> None:
    cards = [
        TaskCard(
            id=f"T-{n}",
            spec_id="auth",
            title="x",
            status="todo",
            stage=None,
            priority=2,
            iteration=0,
            max_iterations=0,
            worker="",
            needs=(f"T-{n - 1}",) if n else (),
        )
        for n in range(3000)
    ]
    lines = TaskGraph(cards).render_text().splitlines()
    assert len(lines) == MAX_GRAPH_DEPTH + 2
    assert lines[-1].endswith(f"… {3000 - MAX_GRAPH_DEPTH - 1} below it: ralph task graph T-{MAX_GRAPH_DEPTH}")


def test_help_lists_everything() -> None:
    shown = ralph_task("--help").output
    for name in "create import list show edit followup delete graph loops cancel".split():
        assert f"  {name} " in shown
    assert "--reviewer-verify-cmd" in ralph_task("create", "--help").output
