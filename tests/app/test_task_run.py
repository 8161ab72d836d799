"""Where a task goes on in another life."""

import threading
from typing import Any

import pytest

from ralph.app.execute import Left, Report
from ralph.app.task_inbox import TaskInbox
from ralph.app.task_run import Ending, _taken, begins
from ralph.core.policies.staged import StagePlan, Standing
from ralph.model.board import Entry
from ralph.model.loop import Outcome
from ralph.model.spec import Role, Task
from support.quiet_inbox import QuietInbox

PLANS = (StagePlan("coder", "C", 15), StagePlan("reviewer", "R", 5), StagePlan("qa", "Q", 1))
BACK = {"ralph_send_backs": [{"changes": "first"}, {"changes": "louder"}]}


def entry(stage: Role | None, iteration: int = 0, **metadata: Any) -> Entry:
    return Entry(Task("T", "s", "t", status="in_progress", stage=stage, iteration=iteration, metadata=metadata))


def logged(stage: str, iteration: int) -> list[dict[str, object]]:
    return [{"stage": stage, "ralph_iteration": iteration}]


@pytest.mark.parametrize(
    ("left", "log", "begun"),
    [
        (entry(None), [], Standing()),
        (entry("coder", 3), logged("coder", 2), Standing(0, 2)),  # cut short in its third run
        (entry("coder", 3), logged("coder", 3), Standing(0, 3)),  # stopped after it
        (entry("reviewer"), logged("coder", 3), Standing(1)),
        (entry("coder", 1, **BACK), logged("reviewer", 1), Standing(0, 0, changes="louder")),
        (entry("reviewer", 1, **BACK), logged("coder", 1), Standing(1)),
        (entry("qa", 1), logged("qa", 1), Standing(2)),  # the last run allowed: it gets another
        (entry("tester", 4), [], Standing()),  # not among the stages
    ],
)
def test_it_goes_on_where_it_stopped(left: Entry, log: list[dict[str, object]], begun: Standing) -> None:  # 000-24
    assert begins(left, PLANS, log) == begun


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
