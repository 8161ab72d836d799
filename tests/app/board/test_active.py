"""Ending the work on one task: who works on it, and who only seems to."""

from pathlib import Path

import pytest

from ralph.app.board.active import RunNotResponding, cancel_task, list_active_tasks
from ralph.process.lock import WorkTreeLock
from support.board_room import BoardFixture


def test_who_has_just_claimed_a_task_and_is_not_on_record_yet_works_on_it(tmp_path: Path) -> None:
    room = BoardFixture(tmp_path)
    room.put("A task")
    crew = WorkTreeLock(room.places.execute_lock)
    assert crew.acquire("execute") is None
    assert room.tasks.claim("run-1", ["TASK-001"]) is not None
    assert [loop.alive for loop in list_active_tasks(room.places)] == [True]
    with pytest.raises(RunNotResponding):
        cancel_task(room.places, "TASK-001", patience=0.05)
    assert room.tasks.get("TASK-001").task.status == "in_progress"
    assert room.tasks.has_wish("TASK-001", "cancel")
    crew.release()
    assert [loop.alive for loop in list_active_tasks(room.places)] == [False]
    cancel_task(room.places, "TASK-001")
    assert room.tasks.get("TASK-001").task.status == "cancelled"
