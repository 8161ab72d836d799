"""The events of the board: only what changed, nothing lost, nobody held up."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.app.board.live_log import LiveLog
from ralph.faces.web import feed
from ralph.faces.web.access import AsgiMessage
from ralph.faces.web.connection import ABORT_KEY
from ralph.faces.web.events import EventStream
from ralph.faces.web.feed import Channel, Feed, Tab
from ralph.model.events import Said
from support.board_room import BoardFixture
from support.web_room import WebFixture


@pytest.fixture
def room(tmp_path: Path) -> Iterator[BoardFixture]:
    room = BoardFixture(tmp_path)
    yield room
    room.close()


@pytest.fixture
def web(room: BoardFixture) -> Iterator[WebFixture]:
    room.put("Add a login", "Fix the race")
    server = WebFixture(room.places)
    yield server
    server.close()


def test_a_tab_gets_the_board_then_what_changes_and_after_a_break_only_what_it_missed(
    room: BoardFixture, web: WebFixture
) -> None:
    with web.stream() as first:
        name, board = first.read()
        assert name == "reset"
        assert [card["id"] for card in board["cards"]] == ["TASK-001", "TASK-002"]
        assert board["version"] == first.last_id
        room.begin("r1", "TASK-001")
        room.iterate("TASK-001", 3)
        change = first.read_until("change")
        while not change["cards"] or change["cards"][0]["iteration"] != 3:
            change = first.read_until("change")
        assert [card["id"] for card in change["cards"]] == ["TASK-001"]
        assert change["cards"][0]["lane"] == "coder"
        assert change["head"]["running"] == 1
        room.tell("r1", Said("<b>hello</b>\x1b[31m"))
        (line,) = first.read_until("log")["lines"]
        assert line["run"] == "r1"
        assert line["text"] == "<b>hello</b>"
    last = first.last_id
    room.block("TASK-002", "needs a key")
    room.tell("r1", Said("while you were away"))
    with web.stream(f"Last-Event-ID: {last}") as again:
        missed = dict([again.read(), again.read()])
        assert [card["id"] for card in missed["change"]["cards"]] == ["TASK-002"]
        assert missed["change"]["cards"][0]["reason"] == "needs a key"
        assert [line["text"] for line in missed["log"]["lines"]] == ["while you were away"]
    with web.stream(query=f"?after={again.last_id}") as up_to_date:
        room.cancel("TASK-002")
        assert up_to_date.read()[0] == "change"
    with web.stream("Last-Event-ID: of-another-server.7") as stranger:
        name, board = stranger.read()
        assert name == "reset"
        assert [line["text"] for line in board["lines"]] == ["<b>hello</b>", "while you were away"]


def test_the_server_ends_at_once_although_tabs_listen(web: WebFixture) -> None:
    with web.stream() as one, web.stream() as other:
        assert one.read()[0] == other.read()[0] == "reset"
        assert web.close() < 3


@pytest.mark.parametrize("limit", ["MAX_WAITING_MESSAGES", "MAX_WAITING_BYTES"])
def test_a_tab_that_does_not_keep_up_is_dropped(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(feed, limit, 3)

    async def be_slow() -> tuple[bool, bool, bytes]:
        tab = Tab("")
        for _ in range(3):
            tab.offer(b"x")
        kept_up = not tab.is_dropped.is_set()
        got = await tab.receive(1)
        for _ in range(9):
            tab.offer(b"xx")
        return kept_up, tab.is_dropped.is_set(), got

    assert asyncio.run(be_slow()) == (True, True, b"xxx")


def test_a_stream_that_nobody_reads_ends_and_its_connection_is_cut(room: BoardFixture) -> None:
    async def hold_up(message: AsgiMessage) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def stay() -> AsgiMessage:
        await asyncio.Event().wait()
        return {}

    async def stream() -> list[str]:
        cut: list[str] = []
        shared = Feed()
        shared.start(asyncio.get_running_loop())
        scope: dict[str, object] = {"method": "GET", ABORT_KEY: lambda: cut.append("cut")}
        serving = asyncio.create_task(EventStream(shared, "here", room.places, "")(scope, stay, hold_up))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        shared.close()  # every tab is dropped, as one that does not keep up is
        await asyncio.wait_for(serving, 5)
        return cut

    assert asyncio.run(stream()) == ["cut"]


def test_a_board_that_cannot_be_read_is_told_and_comes_back(room: BoardFixture) -> None:
    room.put("Add a login")
    channel = Channel("here", room.places)
    channel.look()
    database = Path(room.places.database)
    kept = database.parent.rename(database.parent.with_name("kept"))
    database.parent.mkdir()
    database.write_bytes(b"this is no database, however long one looks at it" * 100)
    channel.look()
    assert channel.snapshot().head.problem
    shutil.rmtree(database.parent)
    channel.look()
    assert (channel.snapshot().cards, channel.snapshot().head.problem) == ([], "")
    kept.rename(database.parent)
    channel.look()
    assert [card.id for card in channel.snapshot().cards] == ["TASK-001"]
    channel.close()


def test_where_nothing_is_there_is_an_empty_board(tmp_path: Path) -> None:
    room = BoardFixture(tmp_path)
    server = WebFixture(room.places)
    board = server.get("/api/v1/board").json
    assert (board["cards"], board["head"]["problem"]) == ([], "")
    assert not Path(room.places.database).exists()
    server.close()


def test_a_log_begins_with_how_the_last_runs_ended(room: BoardFixture) -> None:
    room.put("Add a login")
    room.begin("r1", "TASK-001")
    room.tell("r1", Said("the last words"))
    room.block("TASK-001", "needs a key")
    room.runs.end("r1", 1000.0, "blocked", "needs a key")
    channel = Channel("here", room.places)
    channel.look()
    assert [(line.label, line.text) for line in channel.snapshot().lines] == [("TASK-001", "the last words")]
    channel.look()
    assert len(channel.snapshot().lines) == 1
    channel.close()


def test_a_log_that_cannot_be_read_is_told_and_the_board_goes_on(
    room: BoardFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.put("Add a login")
    channel = Channel("here", room.places)
    with monkeypatch.context() as patch:
        patch.setattr(LiveLog, "read_events", _fail_to_read)
        channel.look()
    snapshot = channel.snapshot()
    assert ([card.id for card in snapshot.cards], "disk" in snapshot.head.problem) == (["TASK-001"], True)
    channel.look()
    assert channel.snapshot().head.problem == ""
    channel.close()


def _fail_to_read(*_: object) -> None:
    raise OSError("the disk is gone")


def test_the_time_and_cost_of_a_task_at_work_are_those_of_its_run(room: BoardFixture) -> None:
    room.put("Add a login")
    room.begin("r1", "TASK-001")
    room.runs.append(("r1", 1, 1000.0, 61.0, 1, 7, 0.5, "agent", b"{}", b"{}"))
    channel = Channel("here", room.places)
    channel.look()
    (run,) = channel.snapshot().runs
    assert (run.seconds, run.cost_usd, run.limit, run.changed_at > 0) == (61.0, 0.5, 7, True)
    channel.close()


def test_a_repository_that_is_deleted_is_told_and_not_brought_back(room: BoardFixture, web: WebFixture) -> None:
    shutil.rmtree(room.folder)
    assert "is gone" in web.get("/api/v1/board").json["head"]["problem"]
    for path, body in (("runs", {"prompt": "x"}), ("tasks", {"title": "x"}), ("tasks/TASK-001/note", {"text": "x"})):
        refused = web.post(f"/api/v1/{path}", body)
        assert (refused.status, refused.json["error"]["code"]) == (503, "environment")
    assert not room.folder.exists()
