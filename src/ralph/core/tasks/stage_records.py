"""What the board is told of one agent run of a stage, and of the look at its promise."""

from collections.abc import Sequence

from msgspec.structs import replace

from ralph.core.claims import MISPLACED_PROMISE_REASON
from ralph.core.policies.staged import explain_missing_promise, extract_wanted_changes, is_answer
from ralph.core.standstill import WRITING_ROLES
from ralph.core.tasks.criteria import has_promise
from ralph.core.tasks.task_rules import format_iso_time
from ralph.model.board import (
    Attempted,
    Change,
    CostRecorded,
    Entry,
    IterationBegun,
    IterationEnded,
    SentBack,
    StageEntered,
    StagePassed,
)
from ralph.model.loop import Brief, Forbidden, Reported
from ralph.model.spec import Role
from ralph.model.verdict import Verdict

UNVERIFIED_REASON = "Its promise has not been looked at"
RESOLVED_CONFLICT_REASON = "It was to resolve a merge conflict"


def forbid_spending(role: str) -> Forbidden:
    """Why an agent of that stage is not started any more."""
    kept = ", but for what is kept for reviews (budgetReserve)" if role in WRITING_ROLES else ""
    return Forbidden(f"the budget of all tasks together is spent{kept}")


def is_sent_back(entry: Entry, brief: Brief) -> bool:
    """Whether this run is the first to hear of changes that a later stage wants."""
    return bool(brief.changes) and entry.task.stage != brief.role


def describe_start(entry: Entry, brief: Brief, *, role: Role, promise: str, at: float) -> list[Change]:
    """The agent's turn begins."""
    sent_back = [SentBack(brief.story, brief.changes, at)] if is_sent_back(entry, brief) else []
    begun = IterationBegun(
        task=brief.story,
        stage=role,
        iteration=brief.turn,
        max_iterations=brief.turns,
        completion_promise=promise,
        at=at,
    )
    return [*sent_back, StageEntered(brief.story, role), begun]


def describe_cost(brief: Brief, reported: Reported, *, role: Role, run: str, at: float) -> CostRecorded:
    return CostRecorded(
        task=brief.story,
        stage=role,
        iteration=brief.turn,
        at=at,
        cost_usd=reported.cost_usd,
        input_tokens=reported.usage.input_tokens,
        output_tokens=reported.usage.output_tokens,
        run=run,
    )


def describe_end(
    brief: Brief,
    reported: Reported,
    *,
    role: Role,
    promise: str,
    run: str,
    loose: bool,
    is_proven: bool,
    at: float,
) -> IterationEnded:
    """What can be said before its promise was looked at; `is_proven`: its verification looks at files."""
    content = is_answer(reported, is_proven=is_proven) and not extract_wanted_changes(role, reported.text)
    promised = content and has_promise(reported.text, loose)
    if not brief.turns:
        reason = RESOLVED_CONFLICT_REASON
    else:
        reason = UNVERIFIED_REASON if promised else explain_missing_promise(role, reported, promise)
    return IterationEnded(
        task=brief.story,
        stage=role,
        iteration=brief.turn,
        max_iterations=brief.turns,
        promise_found=promised,
        continuing=brief.turn < brief.turns,
        duration_ms=int(reported.seconds * 1000),
        at=at,
        outcome=reported.outcome,
        run=run,
        reason=reason,
    )


def describe_misplaced_promise(ended: IterationEnded) -> list[Attempted]:
    """A promise that stood where none counts is an attempt that failed."""
    if ended.reason != MISPLACED_PROMISE_REASON:
        return []
    verdict = Verdict(method="string_match", verified=False, reason=ended.reason)
    attempt = verdict.as_attempt(iteration=ended.iteration, agent=ended.stage, timestamp=format_iso_time(ended.at))
    return [Attempted(ended.task, attempt, ended.run)]


def describe_verification(task: str, verdict: Verdict, *, role: Role, turn: int, run: str, at: float) -> list[Change]:
    """A promise was looked at, and what that cost."""
    attempt = verdict.as_attempt(iteration=turn, agent=role, timestamp=format_iso_time(at))
    attempted = Attempted(task, attempt, run)
    if verdict.cost_usd is None:
        return [attempted]
    cost = CostRecorded(task=task, stage=role, iteration=turn, at=at, cost_usd=verdict.cost_usd, run=run)
    return [attempted, cost]


def correct_end(ended: IterationEnded, verdict: Verdict) -> IterationEnded:
    """What the log says of the iteration once its promise was looked at."""
    continuing = not verdict.verified and ended.iteration < ended.max_iterations
    reason = "Completion verified" if verdict.verified else f"Verification failed: {verdict.reason}"
    return replace(ended, continuing=continuing, reason=reason)


def describe_pass(task: str, role: Role, after: Sequence[Role], *, by_words: bool = False) -> list[Change]:
    """The next stage begins in the same write: who is cut short here need not pass this one again."""
    entered = [StageEntered(task, after[0])] if after else []
    return [StagePassed(task, role, by_words), *entered]
