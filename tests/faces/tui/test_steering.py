"""What keys do to the selected card."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual import _wait

from ralph.faces.tui.dialogs import ConfirmDialog
from ralph.faces.tui.questions import ChoiceDialog, TextDialog
from ralph.faces.tui.selection import suggest_task_id
from ralph.model.board import GaveUp
from ralph.model.control import Subject
from ralph.process.lock import WorkTreeLock
from support.board_room import BoardFixture
from support.board_screen import Watcher, watch
from support.stores import connect


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BoardFixture]:
    monkeypatch.setattr("ralph.app.board.watch.READ_PAUSE_FACTOR", 0)
    monkeypatch.setattr(_wait, "SLEEP_GRANULARITY", 0.004)
    monkeypatch.setenv("RALPH_USER", "ann")
    monkeypatch.delenv("RALPH_RUN_ID", raising=False)
    room = BoardFixture(tmp_path)
    yield room
    room.close()


def test_p_pauses_and_resumes_the_selected_task(room: BoardFixture) -> None:
    room.put("Login")
    room.begin("run-1", "TASK-001")

    async def play(watcher: Watcher) -> None:
        await watcher.press("p")
        assert await watcher.until("paused by ann")
        pauses = connect(room.places.database).control.list_pauses()
        assert [(pause.subject, pause.now) for pause in pauses] == [(Subject("task", "TASK-001"), False)]
        await watcher.press("p")
        assert await watcher.until("Resumed")
        assert connect(room.places.database).control.list_pauses() == []
        await watcher.press("P")
        assert await watcher.until("paused by ann")
        assert connect(room.places.database).control.list_pauses()[0].now

    watch(room, play)


def test_n_leaves_a_note_for_the_selected_run(room: BoardFixture) -> None:
    room.begin("run-1", kind="run", prompt="Upgrade")

    async def play(watcher: Watcher) -> None:
        await watcher.press("n", "escape")
        assert watcher.is_at_board()
        seen = await watcher.press("n")
        assert isinstance(watcher.app.screen, TextDialog)
        assert "Note for Upgrade" in seen
        await watcher.press(*"be quick", "enter")
        assert await watcher.until("Noted")
        (note,) = connect(room.places.database).control.list_notes(Subject("run", "run-1"))
        assert (note.note.text, note.note.by) == ("be quick", "ann (board)")
        await watcher.press("a")
        assert watcher.is_at_board()  # nothing was asked

    watch(room, play)


def test_r_retries_and_plus_and_minus_change_the_priority(room: BoardFixture) -> None:
    room.put("Login", "Logout")
    room.begin("run-1", "TASK-001")
    room.change(GaveUp(task="TASK-001", iterations_used=7, last_output="", reason="It never worked"))

    async def play(watcher: Watcher) -> None:
        assert "! failed" in await watcher.look()
        await watcher.press("g", "r")
        assert await watcher.until("is reopened")
        before = room.tasks.get("TASK-001").task.priority
        await watcher.press("g", "minus")
        assert await watcher.until(f"TASK-001 has priority {before + 1}")
        assert watcher.chosen() == "TASK-001"  # the cursor goes with it, now below the other
        await watcher.press("plus")
        assert await watcher.until(f"TASK-001 has priority {before} ")

    watch(room, play)


def test_a_key_asks_how_to_stop_a_whole_execute(room: BoardFixture) -> None:
    room.put("Login")

    async def play(watcher: Watcher) -> None:
        await watcher.press("S")
        assert await watcher.until("No `ralph execute` is running here.")
        lock = WorkTreeLock(room.places.execute_lock)
        assert lock.acquire("run-1") is None
        await watcher.press("S")
        assert isinstance(watcher.app.screen, ChoiceDialog)
        await watcher.press("a")
        assert await watcher.until("`ralph execute` stops after the agents at work.")
        lock.release()
        assert connect(room.places.database).control.list_execute_wishes() == {"agents"}

    watch(room, play)


def test_x_cancels_a_task_that_nobody_works_on(room: BoardFixture) -> None:
    room.put("Login")

    async def play(watcher: Watcher) -> None:
        await watcher.press("x")
        assert isinstance(watcher.app.screen, ConfirmDialog)
        await watcher.press("y")
        assert await watcher.until("Cancelled TASK-001.")
        assert room.tasks.get("TASK-001").task.status == "cancelled"

    watch(room, play)


@pytest.mark.parametrize(
    ("known", "next_id"),
    [((), "TASK-001"), (("TASK-009", "TASK-010"), "TASK-011"), (("T-1", "other"), "T-2"), (("login",), "TASK-001")],
)
def test_a_new_task_has_the_next_number(known: tuple[str, ...], next_id: str) -> None:
    assert suggest_task_id(known) == next_id
