"""What a whole `ralph execute` comes to."""

import threading

import pytest

from ralph.app.pipeline.execute import ExecuteReport, UntouchedTask
from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.app.pipeline.task_run import TaskEnding, _acquire_landing
from ralph.model.loop import Outcome
from support.quiet_inbox import QuietInbox

DONE, FAILED = TaskEnding("A", Outcome.COMPLETED, ""), TaskEnding("B", Outcome.EXHAUSTED, "")
BLOCKED, CANCELLED = TaskEnding("C", Outcome.BLOCKED, ""), TaskEnding("D", Outcome.INTERRUPTED, "cancelled")


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (ExecuteReport(()), 0),
        (ExecuteReport((DONE,)), 0),
        (ExecuteReport((DONE, FAILED)), 1),
        (ExecuteReport((DONE, CANCELLED)), 1),
        (ExecuteReport((DONE, BLOCKED)), 3),
        (ExecuteReport((BLOCKED, FAILED)), 1),
        (ExecuteReport((DONE,), (UntouchedTask("E", "waits"),)), 1),
        (ExecuteReport((), (UntouchedTask("E", "is blocked", blocked=True),)), 3),
        (ExecuteReport((FAILED, TaskEnding("F", Outcome.UNUSABLE, ""))), 2),
        (ExecuteReport((DONE, TaskEnding("G", Outcome.INTERRUPTED, "received SIGINT"))), 130),
        (ExecuteReport((), (UntouchedTask("E", "was not begun"),), interrupted=True), 130),
    ],
)
def test_only_when_all_is_done_the_exit_code_is_0(report: ExecuteReport, code: int) -> None:
    assert report.exit_code == code


def test_who_waits_for_its_turn_to_land_still_hears_a_cancel() -> None:
    turn, signals = threading.Lock(), QuietInbox()
    inbox = TaskInbox(signals, lambda: True)
    try:
        assert _acquire_landing(turn, inbox)  # nobody has it
        assert not _acquire_landing(turn, inbox)
    finally:
        inbox.close()
        signals.close()
