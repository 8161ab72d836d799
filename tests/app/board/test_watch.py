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
from ralph.app.board.view import Found, Slot, lanes, view
from ralph.app.board.watch import Lookout
from ralph.config.schema import Settings
from ralph.model.board import GaveUp, NoSuchTask, StageEntered, StagePassed
from ralph.model.board import Spent as Paid
from ralph.model.errors import CorruptState
from ralph.stores import sqlite
from support.board_room import BoardRoom, names


@pytest.fixture
def room(tmp_path: Path) -> Iterator[BoardRoom]:
    room = BoardRoom(tmp_path)
    yield room
    room.close()


@pytest.fixture
def lookout(room: BoardRoom) -> Iterator[Lookout]:
    lookout = Lookout(room.places)
    yield lookout
    lookout.close()


def test_looking_creates_nothing(room: BoardRoom, lookout: Lookout) -> None:
    assert lookout.look().cards == ()
    assert not os.path.exists(room.places.state)
    with pytest.raises(NoSuchTask):
        lookout.task("TASK-001", Settings())


def test_a_database_that_appears_later_is_seen(room: BoardRoom, lookout: Lookout) -> None:
    lookout.look()
    os.makedirs(room.places.state)
    Path(room.places.database).touch()  # someone is about to make it
    assert lookout.look().cards == ()
    room.put("Login")
    assert [card.title for card in lookout.look().cards] == ["Login"]


def test_a_database_that_is_exchanged_is_read_anew(room: BoardRoom, lookout: Lookout) -> None:
    room.put("Login", "Logout")
    assert len(lookout.look().cards) == 2
    shutil.rmtree(room.places.state)
    assert lookout.look().cards == ()
    room.put("Other")
    assert [card.title for card in lookout.look().cards] == ["Other"]


def test_nothing_changed_gives_the_same_view_without_reading(
    room: BoardRoom, lookout: Lookout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "REST", 0)
    room.put("Login")
    first = lookout.look()
    read: list[object] = []
    monkeypatch.setattr(board, "_found", lambda *given: read.append(given))
    assert lookout.look() is first
    assert read == []


def test_a_change_is_seen_at_the_next_look(room: BoardRoom, lookout: Lookout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "REST", 0)
    room.put("Login")
    lookout.look()
    room.begin("run-1", "TASK-001")
    room.iterate("TASK-001", 3)
    card = lookout.look().cards[0]
    assert (card.status, card.stage, card.iteration, card.max_iterations) == ("in_progress", "coder", 3, 15)


def test_a_long_look_is_followed_by_a_longer_pause(
    room: BoardRoom, lookout: Lookout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "REST", 1e9)
    room.put("Login")
    first = lookout.look()
    room.put("Logout")
    assert lookout.look() is first


def test_looking_writes_nothing(room: BoardRoom, lookout: Lookout) -> None:
    pid = room.living()
    room.put("Login")
    room.begin("run-1", "TASK-001", pid=pid)
    room.kill(pid)  # `ralph status` would mark it as lost

    def content() -> str:
        database = sqlite.opened(room.places.database)
        return hashlib.sha256("\n".join(database.iterdump()).encode()).hexdigest()

    before = content()
    lookout.look()
    lookout.task("TASK-001", Settings())
    assert content() == before
    watched = sqlite.opened_to_watch(room.places.database)
    assert watched is not None
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        watched.execute("DELETE FROM task")


def test_a_busy_database_is_asked_again_later(room: BoardRoom, lookout: Lookout) -> None:
    room.put("Login")
    gc.collect()  # so that no connection is left
    holder = sqlite3.connect(room.places.database, isolation_level=None)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")  # nobody else may even read
    holder.execute("BEGIN EXCLUSIVE")
    assert lookout.look().cards == ()
    holder.close()
    assert len(lookout.look().cards) == 1


def test_what_is_no_database_is_told(room: BoardRoom, lookout: Lookout) -> None:
    os.makedirs(room.places.state)
    Path(room.places.database).write_bytes(b"not a database at all, and long enough to be looked at " * 40)
    with pytest.raises(CorruptState, match="is not a ralph database"):
        lookout.look()


def test_an_older_database_is_brought_up_to_date(room: BoardRoom, lookout: Lookout) -> None:
    database = sqlite.opened(room.places.database)
    database.execute("DROP TABLE spend")
    for table in ("iteration", "verification", "applied", "task_wish", "task_dependency", "task", "spec"):
        database.execute(f"DROP TABLE {table}")
    database.execute("PRAGMA user_version=2")
    database.close()
    assert lookout.look().cards == []


def test_a_killed_worker_is_not_shown_as_running(room: BoardRoom, lookout: Lookout) -> None:
    pid = room.living()
    room.put("Login")
    room.begin("run-1", "TASK-001", pid=pid)
    room.iterate("TASK-001", 3)
    assert names(lookout.look().running) == ["TASK-001"]
    room.kill(pid)  # the database knows nothing of it
    seen = lookout.look()
    assert (list(seen.running), set(seen.cut_off), seen.since) == ([], {"TASK-001"}, None)


def test_slots_tell_the_stage_and_its_iteration(room: BoardRoom, lookout: Lookout) -> None:  # 000-19
    room.put("Login")
    room.begin("run-1", "TASK-001")
    room.iterate("TASK-001", 3, 15, ago=323)
    slot = lookout.look().slots[0]
    assert (slot.number, slot.role, slot.task, slot.iteration, slot.max_iterations) == (1, "coder", "TASK-001", 3, 15)
    assert slot.is_of_task


def test_workers_without_a_task_are_idle_and_other_loops_sit_beside_them(room: BoardRoom, lookout: Lookout) -> None:
    room.put("Login")
    room.begin("run-1", "TASK-001", jobs=3)
    room.begin("run-2", kind="run", pid=room.living())
    seats = [(slot.role, slot.name) for slot in lookout.look().slots]
    assert seats == [("coder", "TASK-001"), ("run", "run-2"), ("", ""), ("", "")]


def test_time_is_counted_from_the_first_task_of_the_process(room: BoardRoom, lookout: Lookout) -> None:
    room.put("Login", "Logout")
    room.finish("TASK-001", "run-1")
    room.begin("run-2", "TASK-002")
    first, second = room.runs.record("run-1"), room.runs.record("run-2")
    assert first is not None
    assert second is not None
    assert first.started_at < second.started_at
    assert lookout.look().since == first.started_at


def test_a_worker_keeps_its_slot(room: BoardRoom, lookout: Lookout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "REST", 0)
    for number in (1, 2, 3):
        room.begin(f"run-{number}", kind="run")
    assert names(lookout.look().slots) == ["run-1", "run-2", "run-3"]
    room.runs.end("run-1", 1.0, "completed", "")
    assert names(lookout.look().slots) == ["run-2", "run-3"]
    room.runs.end("run-2", 1.0, "completed", "")
    room.begin("run-4", kind="run")
    assert names(lookout.look().slots) == ["run-4", "run-3"]


def test_money_of_tasks_and_of_running_loops_is_added(room: BoardRoom, lookout: Lookout) -> None:
    room.put("Login")
    assert lookout.look().spent_usd is None
    room.change(Paid("TASK-001", "coder", 1, 1.0, 0.25), Paid("TASK-001", "coder", 2, 2.0, 0.5))
    lookout.close()
    assert Lookout(room.places).look().spent_usd == 0.75


def test_why_tasks_rest_is_known(room: BoardRoom, lookout: Lookout) -> None:
    room.put("Login", "Logout", "Other")
    room.block("TASK-001", "needs a key")
    room.begin("run-1", "TASK-002")
    room.change(GaveUp("TASK-002", 15, "…"))
    assert lookout.look().remarks == {
        "TASK-001": "needs a key",
        "TASK-002": "Max iterations reached without completion promise",
    }


def test_only_one_spec_if_wanted(room: BoardRoom) -> None:
    room.put("Login")
    room.put("Basket", spec="shop")
    assert [card.title for card in Lookout(room.places, "shop").look().cards] == ["Basket"]


def test_place_is_repository_and_branch(room: BoardRoom, lookout: Lookout) -> None:
    assert lookout.look().place == "my-app:main"
    (room.folder / ".git" / "HEAD").write_text("0123456789abcdef0123456789abcdef01234567\n")
    assert lookout.look().place == "my-app:0123456789ab"
    (room.folder / ".git" / "HEAD").write_bytes(b"\xff")
    assert lookout.look().place == "my-app"


def test_every_card_has_one_lane(room: BoardRoom, lookout: Lookout) -> None:
    room.put("Login", "Logout", "Blocked", "Cancelled", "Done", "At the third stage")
    room.finish("TASK-005")
    room.begin("run-6", "TASK-006")
    room.change(StagePassed("TASK-006", "coder"), StageEntered("TASK-006", "reviewer"))
    room.change(StagePassed("TASK-006", "reviewer"), StageEntered("TASK-006", "tester"))
    room.begin("run-1", "TASK-001")
    room.block("TASK-003", "x")
    room.cancel("TASK-004")
    found = {lane: [card.id for card in cards] for lane, cards in lanes(lookout.look().cards).items() if cards}
    assert found == {
        "todo": ["TASK-002", "TASK-003"],
        "coder": ["TASK-001"],
        "tester": ["TASK-006"],
        "done": ["TASK-005"],
    }
    assert [card.id for card in lanes(lookout.look().cards, cancelled=True)["todo"]][-1] == "TASK-004"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("", 2), ("LOGIN", 1), ("task-002", 1), ("auth", 2), ("auth log task", 2), ("in auth", 1), ("nothing", 0)],
)
def test_a_filter_looks_at_id_title_and_spec(room: BoardRoom, lookout: Lookout, wanted: str, found: int) -> None:
    room.put("Login", "Logout")
    assert len(lanes(lookout.look().cards, wanted)["todo"]) == found


def test_empty_seats_go_when_nobody_needs_them() -> None:
    before = [Slot(1), Slot(2, "gone"), Slot(3)]
    assert view("", Found(), (), before).slots == ()
