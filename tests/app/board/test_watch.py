"""Watching the board: what is seen, what it costs, and what is never done."""

import gc
import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.app.board import watch as board
from ralph.app.board.view import BoardState, WorkerSlot, build_view, group_by_lane
from ralph.app.board.watch import BoardReader
from ralph.config.schema import Settings
from ralph.model.board import CostRecorded as Paid
from ralph.model.board import GaveUp, NoSuchTask, StageEntered, StagePassed
from ralph.model.errors import CorruptState
from ralph.stores.sqlite import database as sqlite
from support.board_room import BoardFixture, list_slot_names


@pytest.fixture
def room(tmp_path: Path) -> Iterator[BoardFixture]:
    room = BoardFixture(tmp_path)
    yield room
    room.close()


@pytest.fixture
def lookout(room: BoardFixture) -> Iterator[BoardReader]:
    lookout = BoardReader(room.places)
    yield lookout
    lookout.close()


def test_looking_creates_nothing(room: BoardFixture, lookout: BoardReader) -> None:
    assert lookout.read_view().cards == ()
    assert not os.path.exists(room.places.state)
    with pytest.raises(NoSuchTask):
        lookout.load_task("TASK-001", Settings())


def test_a_database_that_appears_later_is_seen(room: BoardFixture, lookout: BoardReader) -> None:
    lookout.read_view()
    os.makedirs(room.places.state)
    Path(room.places.database).touch()  # someone is about to make it
    assert lookout.read_view().cards == ()
    room.put("Login")
    assert [card.title for card in lookout.read_view().cards] == ["Login"]


def test_a_database_that_is_exchanged_is_read_anew(room: BoardFixture, lookout: BoardReader) -> None:
    room.put("Login", "Logout")
    assert len(lookout.read_view().cards) == 2
    shutil.rmtree(room.places.state)
    assert lookout.read_view().cards == ()
    room.put("Other")
    assert [card.title for card in lookout.read_view().cards] == ["Other"]


def test_nothing_changed_gives_the_same_view_without_reading(
    room: BoardFixture, lookout: BoardReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "READ_PAUSE_FACTOR", 0)
    room.put("Login")
    first = lookout.read_view()
    read: list[object] = []
    monkeypatch.setattr(board, "_read_state", lambda *given: read.append(given))
    assert lookout.read_view() is first
    assert read == []


def test_a_change_is_seen_at_the_next_look(
    room: BoardFixture, lookout: BoardReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "READ_PAUSE_FACTOR", 0)
    room.put("Login")
    lookout.read_view()
    room.begin("run-1", "TASK-001")
    room.iterate("TASK-001", 3)
    card = lookout.read_view().cards[0]
    assert (card.status, card.stage, card.iteration, card.max_iterations) == ("in_progress", "coder", 3, 15)


def test_a_long_look_is_followed_by_a_longer_pause(
    room: BoardFixture, lookout: BoardReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "READ_PAUSE_FACTOR", 1e9)
    room.put("Login")
    first = lookout.read_view()
    room.put("Logout")
    assert lookout.read_view() is first


def test_looking_writes_nothing(room: BoardFixture, lookout: BoardReader) -> None:
    pid = room.living()
    room.put("Login")
    room.begin("run-1", "TASK-001", pid=pid)
    room.kill(pid)  # `ralph status` would mark it as lost

    def content() -> str:
        database = sqlite.open_database(room.places.database)
        return hashlib.sha256("\n".join(database.iterdump()).encode()).hexdigest()

    before = content()
    lookout.read_view()
    lookout.load_task("TASK-001", Settings())
    assert content() == before
    watched = sqlite.open_read_only(room.places.database)
    assert watched is not None
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        watched.execute("DELETE FROM task")


def test_a_busy_database_is_asked_again_later(room: BoardFixture, lookout: BoardReader) -> None:
    room.put("Login")
    gc.collect()  # so that no connection is left
    holder = sqlite3.connect(room.places.database, isolation_level=None)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")  # nobody else may even read
    holder.execute("BEGIN EXCLUSIVE")
    assert lookout.read_view().cards == ()
    holder.close()
    assert len(lookout.read_view().cards) == 1


def test_what_is_no_database_is_told(room: BoardFixture, lookout: BoardReader) -> None:
    os.makedirs(room.places.state)
    Path(room.places.database).write_bytes(b"not a database at all, and long enough to be looked at " * 40)
    with pytest.raises(CorruptState, match="is not a ralph database"):
        lookout.read_view()


def test_an_older_database_is_brought_up_to_date(room: BoardFixture, lookout: BoardReader) -> None:
    database = sqlite.open_database(room.places.database)
    database.execute("DROP TABLE spend")
    for table in (
        "pause",
        "question",
        "note",
        "execute_wish",
        "iteration",
        "verification",
        "applied",
        "task_wish",
        "task_dependency",
        "task",
        "spec",
    ):
        database.execute(f"DROP TABLE {table}")
    for column in ("host", "pid_namespace", "beat"):
        database.execute(f"ALTER TABLE run DROP COLUMN {column}")
    database.execute("PRAGMA user_version=2")
    database.close()
    assert lookout.read_view().cards == []


def test_a_killed_worker_is_not_shown_as_running(room: BoardFixture, lookout: BoardReader) -> None:
    pid = room.living()
    room.put("Login")
    room.begin("run-1", "TASK-001", pid=pid)
    room.iterate("TASK-001", 3)
    assert list_slot_names(lookout.read_view().running_slots) == ["TASK-001"]
    room.kill(pid)  # the database knows nothing of it
    seen = lookout.read_view()
    assert (list(seen.running_slots), set(seen.orphaned), seen.since) == ([], {"TASK-001"}, None)


def test_slots_tell_the_stage_and_its_iteration(room: BoardFixture, lookout: BoardReader) -> None:  # 000-19
    room.put("Login")
    room.begin("run-1", "TASK-001")
    room.iterate("TASK-001", 3, most=15, ago=323)
    slot = lookout.read_view().slots[0]
    assert (slot.number, slot.role, slot.task, slot.iteration, slot.max_iterations) == (1, "coder", "TASK-001", 3, 15)
    assert slot.is_task_slot


def test_workers_without_a_task_are_idle_and_other_loops_sit_beside_them(
    room: BoardFixture, lookout: BoardReader
) -> None:
    room.put("Login")
    room.begin("run-1", "TASK-001", jobs=3)
    room.begin("run-2", kind="run", pid=room.living())
    seats = [(slot.role, slot.name) for slot in lookout.read_view().slots]
    assert seats == [("coder", "TASK-001"), ("run", "run-2"), ("", ""), ("", "")]


def test_time_is_counted_from_the_first_task_of_the_process(room: BoardFixture, lookout: BoardReader) -> None:
    room.put("Login", "Logout")
    room.finish("TASK-001", "run-1")
    room.begin("run-2", "TASK-002")
    first, second = room.runs.find_record("run-1"), room.runs.find_record("run-2")
    assert first is not None
    assert second is not None
    assert first.started_at < second.started_at
    assert lookout.read_view().since == first.started_at


def test_a_worker_keeps_its_slot(room: BoardFixture, lookout: BoardReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "READ_PAUSE_FACTOR", 0)
    for number in (1, 2, 3):
        room.begin(f"run-{number}", kind="run")
    assert list_slot_names(lookout.read_view().slots) == ["run-1", "run-2", "run-3"]
    room.runs.end("run-1", 1.0, "completed", "")
    assert list_slot_names(lookout.read_view().slots) == ["run-2", "run-3"]
    room.runs.end("run-2", 1.0, "completed", "")
    room.begin("run-4", kind="run")
    assert list_slot_names(lookout.read_view().slots) == ["run-4", "run-3"]


def test_money_of_tasks_and_of_running_loops_is_added(room: BoardFixture, lookout: BoardReader) -> None:
    room.put("Login")
    assert lookout.read_view().spent_usd is None
    room.change(
        Paid(task="TASK-001", stage="coder", iteration=1, at=1.0, cost_usd=0.25),
        Paid(task="TASK-001", stage="coder", iteration=2, at=2.0, cost_usd=0.5),
    )
    lookout.close()
    assert BoardReader(room.places).read_view().spent_usd == 0.75


def test_why_tasks_rest_is_known(room: BoardFixture, lookout: BoardReader) -> None:
    room.put("Login", "Logout", "Other")
    room.block("TASK-001", "needs a key")
    room.begin("run-1", "TASK-002")
    room.change(GaveUp(task="TASK-002", iterations_used=15, last_output="…"))
    assert lookout.read_view().reasons == {
        "TASK-001": "needs a key",
        "TASK-002": "Max iterations reached without completion promise",
    }


def test_only_one_spec_if_wanted(room: BoardFixture) -> None:
    room.put("Login")
    room.put("Basket", spec="shop")
    assert [card.title for card in BoardReader(room.places, "shop").read_view().cards] == ["Basket"]


def test_place_is_repository_and_branch(room: BoardFixture, lookout: BoardReader) -> None:
    assert lookout.read_view().place == "my-app:main"
    (room.folder / ".git" / "HEAD").write_text("0123456789abcdef0123456789abcdef01234567\n")
    assert lookout.read_view().place == "my-app:0123456789ab"
    (room.folder / ".git" / "HEAD").write_bytes(b"\xff")
    assert lookout.read_view().place == "my-app"


def test_every_card_has_one_lane(room: BoardFixture, lookout: BoardReader) -> None:
    room.put("Login", "Logout", "Blocked", "Cancelled", "Done", "At the third stage")
    room.finish("TASK-005")
    room.begin("run-6", "TASK-006")
    room.change(StagePassed("TASK-006", "coder"), StageEntered("TASK-006", "reviewer"))
    room.change(StagePassed("TASK-006", "reviewer"), StageEntered("TASK-006", "tester"))
    room.begin("run-1", "TASK-001")
    room.block("TASK-003", "x")
    room.cancel("TASK-004")
    found = {
        lane: [card.id for card in cards] for lane, cards in group_by_lane(lookout.read_view().cards).items() if cards
    }
    assert found == {
        "todo": ["TASK-002", "TASK-003"],
        "coder": ["TASK-001"],
        "tester": ["TASK-006"],
        "done": ["TASK-005"],
    }
    assert [card.id for card in group_by_lane(lookout.read_view().cards, cancelled=True)["todo"]][-1] == "TASK-004"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("", 2), ("LOGIN", 1), ("task-002", 1), ("auth", 2), ("auth log task", 2), ("in auth", 1), ("nothing", 0)],
)
def test_a_filter_looks_at_id_title_and_spec(room: BoardFixture, lookout: BoardReader, wanted: str, found: int) -> None:
    room.put("Login", "Logout")
    assert len(group_by_lane(lookout.read_view().cards, wanted)["todo"]) == found


def test_empty_seats_go_when_nobody_needs_them() -> None:
    before = [WorkerSlot(number=1), WorkerSlot(number=2, run="gone"), WorkerSlot(number=3)]
    assert build_view("", BoardState(), (), before).slots == ()
