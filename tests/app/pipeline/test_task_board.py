"""A task's board over real SQLite: what its run writes there, and the money it may spend."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.app.pipeline.budget import SharedBudget
from ralph.app.pipeline.task_board import StoredTaskBoard
from ralph.model.board import Attempted, Entry, IllegalMove, Released, Spec, StageEntered, StagePassed
from ralph.model.spec import Role, Task, VerificationAttempt
from ralph.model.store_ports import TaskStore
from ralph.stores.sqlite.stores import connect_stores
from support.quiet_inbox import QuietInbox

RUN, TASK = "run-1", "TASK-001"


@pytest.fixture
def tasks(tmp_path: Path) -> Iterator[TaskStore]:
    stores = connect_stores(str(tmp_path / "ralph.db"))
    stores.tasks.add_new([Task(TASK, "s", "Sign in")], [Spec(id="s", title="Users")])
    yield stores.tasks
    stores.close()


@pytest.fixture
def inbox() -> Iterator[QuietInbox]:
    made = QuietInbox()
    yield made
    made.close()


def claim(tasks: TaskStore, run: str = RUN) -> Entry:
    entry = tasks.claim(run)
    assert entry is not None
    return entry


@pytest.fixture
def board(tasks: TaskStore, inbox: QuietInbox) -> StoredTaskBoard:
    return StoredTaskBoard(tasks, claim(tasks), budget=SharedBudget(1.0), inbox=inbox)


def attempt(reason: str, agent: Role = "coder", *, verified: bool = False) -> Attempted:
    found = VerificationAttempt(
        iteration=1, promise_found=True, verified=verified, reason=reason, timestamp="now", agent=agent
    )
    return Attempted(TASK, found, RUN)


def list_reasons(board: StoredTaskBoard, role: Role) -> list[str]:
    return [attempt.reason for attempt in board.failed_attempts(role)]


def test_every_record_has_a_key_of_its_own(board: StoredTaskBoard, tasks: TaskStore) -> None:
    board.record(StageEntered(TASK, "coder"))
    board.record(StagePassed(TASK, "coder"), StageEntered(TASK, "reviewer"))
    assert (board.entry().task.stage, board.entry().passed) == ("reviewer", ("coder",))
    assert [tasks.apply([Released(TASK)], f"{RUN}/{number}") for number in (1, 2)] == [False, False]  # both are known


def test_what_is_recorded_once_stays_recorded_once(board: StoredTaskBoard) -> None:
    board.record_once("tried", attempt("no"))
    board.record_once("tried", attempt("no"))
    assert list_reasons(board, "coder") == ["no"]


def test_a_run_writes_only_about_a_task_it_has(board: StoredTaskBoard, tasks: TaskStore) -> None:
    board.release_if_held("released")
    claim(tasks, "run-2")
    with pytest.raises(IllegalMove, match=r"held by run-2, not by run-1"):
        board.record(StageEntered(TASK, "coder"))


def test_a_task_is_given_back_by_the_run_that_has_it(board: StoredTaskBoard, tasks: TaskStore) -> None:
    board.release_if_held("released")
    assert (board.entry().task.status, board.entry().worker) == ("todo", "")
    claim(tasks, "run-2")
    board.release_if_held("let go")
    assert board.entry().worker == "run-2"


def test_attempts_of_a_stage_that_failed_since_it_last_held_the_latest_few(board: StoredTaskBoard) -> None:
    board.record(attempt("old"), attempt("held", verified=True), attempt("theirs", "reviewer"))
    assert list_reasons(board, "coder") == []
    board.record(*(attempt(f"no {number}") for number in range(4)))
    assert list_reasons(board, "coder") == ["no 1", "no 2", "no 3"]
    assert list_reasons(board, "reviewer") == ["theirs"]


def test_what_is_charged_cannot_be_reserved_again(board: StoredTaskBoard) -> None:  # 000-22
    with board.reserve("coder") as usd:
        assert usd == 1.0
        board.charge(0.75)
        board.charge(None)
    with board.reserve("coder") as usd:
        assert usd == 0.25
