"""What a whole `ralph execute` comes to."""

import threading

import pytest

from ralph.app.pipeline.execute import Left, Report
from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.app.pipeline.task_run import Ending, _taken
from ralph.model.loop import Outcome
from support.quiet_inbox import QuietInbox

DONE, FAILED = Ending("A", Outcome.COMPLETED, ""), Ending("B", Outcome.EXHAUSTED, "")
BLOCKED, CANCELLED = Ending("C", Outcome.BLOCKED, ""), Ending("D", Outcome.INTERRUPTED, "cancelled")


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (Report(()), 0),
        (Report((DONE,)), 0),
        (Report((DONE, FAILED)), 1),
        (Report((DONE, CANCELLED)), 1),
        (Report((DONE, BLOCKED)), 3),
        (Report((BLOCKED, FAILED)), 1),
        (Report((DONE,), (Left("E", "waits"),)), 1),
        (Report((), (Left("E", "is blocked", blocked=True),)), 3),
        (Report((FAILED, Ending("F", Outcome.UNUSABLE, ""))), 2),
        (Report((DONE, Ending("G", Outcome.INTERRUPTED, "received SIGINT"))), 130),
        (Report((), (Left("E", "was not begun"),), interrupted=True), 130),
    ],
)
def test_only_when_all_is_done_the_exit_code_is_0(report: Report, code: int) -> None:
    assert report.exit_code == code


def test_who_waits_for_its_turn_to_land_still_hears_a_cancel() -> None:
    turn, signals = threading.Lock(), QuietInbox()
    inbox = TaskInbox(signals, lambda: True)
    try:
        assert _taken(turn, inbox)  # nobody has it
        assert not _taken(turn, inbox)
    finally:
        inbox.close()
        signals.close()
