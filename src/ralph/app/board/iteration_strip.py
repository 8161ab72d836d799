"""The iterations of a run in a row, a mark each: whether what its agent left passed the checks."""

from collections.abc import Sequence
from typing import Literal

from ralph.app.runs.journal_reader import DONE_CHECK_NAME, Iteration
from ralph.core.stories.review import APPROVED, CHANGES_REQUESTED

StripMark = Literal["passed", "failed", "open", "active"]


def build_strip(
    iterations: Sequence[Iteration], *, is_active: bool = False, outcome: str | None = None
) -> tuple[StripMark, ...]:
    """Of each agent run, the oldest first. A run that goes on may have its last agent at work; one that is completed is
    so by its last iteration, whether anything was checked or not."""
    runs = [each for each in iterations if each.iteration]
    marks = [_mark_iteration(each) for each in runs]
    if marks and is_active and runs[-1].outcome is None:
        marks[-1] = "active"
    elif marks and outcome == "completed":
        marks[-1] = "passed"
    return tuple(marks)


def _mark_iteration(each: Iteration) -> StripMark:
    if each.outcome != "finished":
        return "open" if each.outcome in (None, "interrupted", "not_started") else "failed"
    if each.landed is not None:
        return "passed" if each.landed.done else "failed"
    if each.reviewed is not None:
        return "passed" if each.reviewed.status == APPROVED else _mark_review(each.reviewed.status)
    last = {check.name: check.passed for check in each.checks}  # of one that was run again, the last time counts
    done = last.pop(DONE_CHECK_NAME, None)  # not being done yet is no failure
    if not all(last.values()):
        return "failed"
    return "passed" if done or (last and done is None) else "open"


def _mark_review(status: str | None) -> StripMark:
    return "failed" if status == CHANGES_REQUESTED else "open"
