"""The life of a task: which change is legal in which status. Every change of every task goes through `apply_change`."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import assert_never

from msgspec.structs import replace

from ralph.model import board
from ralph.model.board import Change, Entry, IllegalMove
from ralph.model.spec import ROLES, TASK_STATUSES, Role, Task, TaskCompletionSpec, TaskStatusName

MAX_LAST_OUTPUT_CHARS = 5000  # characters of it that a failure keeps
LOOP_KEY, FAILURE_KEY, SEND_BACKS_KEY = "ralph", "ralph_failure", "ralph_send_backs"  # keys of a task's metadata
BY_WORDS_KEY = "ralph_by_words"  # another: stages that passed by words only
CANCELLED_AT_WORK, CANCELLED_RUN_GONE = (
    "cancelled while it was worked on",
    "cancelled after its run was gone",
)  # not given up by anyone
GIVEN_UP_KEY = "given_up"  # a key of a send-back: it was before the task was given up, and counts no more

_ACTIVE: tuple[TaskStatusName, ...] = ("in_progress",)
_RESTING: tuple[TaskStatusName, ...] = ("todo", "blocked", "cancelled")
_LEGAL_CHANGES: Mapping[
    type[Change], tuple[tuple[TaskStatusName, ...], str]
] = {  # from which statuses, and what it is called
    board.Claimed: (("todo",), "be claimed"),
    board.TakenOver: (_ACTIVE, "be taken over"),
    board.BranchAssigned: (_ACTIVE, "get a branch"),
    board.StageEntered: (_ACTIVE, "enter a stage"),
    board.IterationBegun: (_ACTIVE, "begin an iteration"),
    board.StagePassed: (_ACTIVE, "pass a stage"),
    board.SentBack: (_ACTIVE, "be sent back"),
    board.GaveUp: (_ACTIVE, "fail"),
    board.Released: (_ACTIVE, "be released"),
    board.Blocked: (("todo", "in_progress"), "be blocked"),
    board.Cancelled: (("todo", "in_progress", "blocked"), "be cancelled"),
    board.Reopened: (("blocked", "cancelled"), "be opened again"),
    board.TaskLanded: (_ACTIVE, "be done"),
    board.Edited: (_RESTING, "be edited"),
    board.IterationEnded: (TASK_STATUSES, "be logged"),
    board.Attempted: (TASK_STATUSES, "be verified"),
    board.CostRecorded: (TASK_STATUSES, "be paid for"),
}
_HINTS: Mapping[TaskStatusName, str] = {
    "todo": "start it with `ralph execute {id}`",
    "in_progress": "cancel it with `ralph task cancel {id}`",
    "blocked": "reopen it with `ralph task edit {id} --status todo`",
    "cancelled": "reopen it with `ralph task edit {id} --status todo`",
    "done": "create a follow-up with `ralph task followup`",
}


def apply_change(entry: Entry, change: Change) -> Entry:
    """The entry after the change; IllegalMove where that cannot happen."""
    task = entry.task
    statuses, verb = _LEGAL_CHANGES[type(change)]
    if task.status not in statuses:
        raise IllegalMove(f"task {task.id!r} is {format_status(task.status)}: it cannot {verb}", suggest_command(task))
    match change:
        case board.Claimed():
            return _claim(entry, change)
        case board.TakenOver(worker=worker, of=gone):
            _require(entry.worker == gone, task, f"is held by {entry.worker}, not by {gone}")
            return replace(entry, worker=worker)
        case board.BranchAssigned(branch=branch, target=target):
            return replace(entry, branch=branch, target=target)
        case board.StageEntered(stage=stage):
            return _enter_stage(entry, stage)
        case board.IterationBegun():
            return _begin_iteration(entry, change)
        case board.StagePassed():
            return _pass_stage(entry, change.stage, change.by_words)
        case board.SentBack():
            return _send_back(entry, change)
        case board.GaveUp():
            return _stop_work(entry, "todo", iteration=0, metadata=_record_failure(task, change))
        case board.Released():
            return _stop_work(entry, "todo")
        case board.Blocked(reason=reason):
            return _stop_work(entry, "blocked", metadata={**task.metadata, "blocked": _describe_reason(reason, entry)})
        case board.Cancelled(reason=reason):
            return _stop_work(
                entry, "cancelled", metadata={**task.metadata, "cancelled": _describe_reason(reason, entry)}
            )
        case board.Reopened():
            return _stop_work(entry, "todo", metadata=_drop_keys(task.metadata, "blocked", "cancelled"))
        case board.TaskLanded(commit=commit):
            return _land(entry, commit)
        case board.Edited():
            return _edit(entry, change)
        case board.IterationEnded() | board.Attempted() | board.CostRecorded():
            return entry
        case _:
            assert_never(change)


def format_status(status: TaskStatusName) -> str:
    return status.replace("_", " ")


def suggest_command(task: Task) -> str:
    """The command that helps with a task in its status."""
    return _HINTS[task.status].format(id=task.id)


def format_iso_time(at: float) -> str:
    """A unix time as the seeds write it: 2024-01-15T10:30:00Z."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def list_send_backs(task: Task) -> list[Mapping[str, object]]:
    """The send-backs since the task was last given up; older ones no longer count."""
    return [back for back in _list_all_send_backs(task.metadata) if not back.get(GIVEN_UP_KEY)]


def list_stages_by_words(task: Task) -> tuple[str, ...]:
    """The stages it passed by the words of their agents only."""
    found = task.metadata.get(BY_WORDS_KEY)
    return tuple(str(role) for role in found) if isinstance(found, list | tuple) else ()


def describe_words_only(roles: Sequence[str]) -> str:
    """`by words only`, or which stages were; empty for none."""
    if not roles:
        return ""
    return "by words only" if len(roles) == len(ROLES) else f"{', '.join(roles)} by words only"


def is_only_work_cancelled(task: Task) -> bool:
    """Whether the work was stopped but the task not given up: it may be resumed without asking."""
    why = task.metadata.get("cancelled")
    return isinstance(why, Mapping) and why.get("reason") in (CANCELLED_AT_WORK, CANCELLED_RUN_GONE)


def _claim(entry: Entry, change: board.Claimed) -> Entry:
    task = entry.task
    stage = change.stage or task.stage or ROLES[0]
    before = ROLES[: ROLES.index(stage) + (change.stage is None)]  # who is not told where to begin repeats nothing
    return replace(
        entry,
        worker=change.worker,
        passed=tuple(role for role in entry.passed if role in before),
        task=replace(task, status="in_progress", stage=stage, iteration=task.iteration if stage == task.stage else 0),
    )


def _enter_stage(entry: Entry, stage: Role) -> Entry:
    task = entry.task
    if stage == task.stage:
        return entry
    forward = task.stage is not None and ROLES.index(stage) > ROLES.index(task.stage)
    _require(forward, task, f"is at {task.stage}: only sending it back leads to {stage}")
    _require(task.stage in entry.passed, task, f"has not passed {task.stage} yet: it cannot enter {stage}")
    return replace(entry, task=replace(task, stage=stage, iteration=0, metadata=_drop_keys(task.metadata, LOOP_KEY)))


def _begin_iteration(entry: Entry, change: board.IterationBegun) -> Entry:
    task, number, most = entry.task, change.iteration, change.max_iterations
    _require(change.stage == task.stage, task, f"is at {task.stage}: {change.stage} cannot work on it")
    _require(1 <= number <= most, task, f"has {most} iterations at {task.stage}: there is no iteration {number}")
    loop = task.metadata.get(LOOP_KEY)
    goes_on = isinstance(loop, Mapping) and number > 1
    loop = {
        "stage": change.stage,
        "iteration": number,
        "max_iterations": most,
        "started_at": loop["started_at"] if isinstance(loop, Mapping) and goes_on else format_iso_time(change.at),
        "completion_promise": change.completion_promise,
    }
    passed = tuple(role for role in entry.passed if role != change.stage)  # what works on may break what it proved
    return replace(
        entry, passed=passed, task=replace(task, iteration=number, metadata={**task.metadata, LOOP_KEY: loop})
    )


def _pass_stage(entry: Entry, stage: Role, by_words: bool) -> Entry:
    task = entry.task
    _require(stage == task.stage, task, f"is at {task.stage}: it cannot pass {stage}")
    failure = task.metadata.get(FAILURE_KEY)
    overcome = (FAILURE_KEY,) if isinstance(failure, Mapping) and failure.get("stage") == stage else ()
    passed = (*(role for role in entry.passed if role != stage), stage)
    metadata = _drop_keys(task.metadata, LOOP_KEY, BY_WORDS_KEY, *overcome)
    words = [role for role in ROLES if (by_words if role == stage else role in list_stages_by_words(task))]
    if words:
        metadata[BY_WORDS_KEY] = words
    return replace(entry, passed=passed, task=replace(task, metadata=metadata))


def _send_back(entry: Entry, change: board.SentBack) -> Entry:
    task = entry.task
    _require(task.stage != ROLES[0], task, f"is at {task.stage}: there is nobody to send it back to")
    record = {"stage": task.stage, "changes": change.changes, "at": format_iso_time(change.at)}
    kept, backs = _drop_keys(task.metadata, LOOP_KEY, BY_WORDS_KEY), _list_all_send_backs(task.metadata)
    metadata = {**kept, SEND_BACKS_KEY: [*backs, record]}
    return replace(entry, passed=(), task=replace(task, stage=ROLES[0], iteration=0, metadata=metadata))


def _land(entry: Entry, commit: str) -> Entry:
    task = entry.task
    _require(task.stage in entry.passed, task, f"has not passed {task.stage}: it cannot be done")
    metadata = _drop_keys(task.metadata, LOOP_KEY, FAILURE_KEY)
    if commit:
        metadata["landed"] = {"commit": commit, "target": entry.target}
    return _stop_work(entry, "done", metadata=metadata)


def _stop_work(
    entry: Entry, status: TaskStatusName, iteration: int | None = None, metadata: Mapping[str, object] | None = None
) -> Entry:
    """Takes the task from its worker and drops the loop's record."""
    task = entry.task
    return replace(
        entry,
        worker="",
        task=replace(
            task,
            status=status,
            iteration=task.iteration if iteration is None else iteration,
            metadata=_drop_keys(task.metadata if metadata is None else metadata, LOOP_KEY),
        ),
    )


def _record_failure(task: Task, change: board.GaveUp) -> dict[str, object]:
    failure = {
        "stage": task.stage,
        "iterations_used": change.iterations_used,
        "last_output": change.last_output[-MAX_LAST_OUTPUT_CHARS:],
        "reason": change.reason,
    }
    backs = [{**back, GIVEN_UP_KEY: True} for back in _list_all_send_backs(task.metadata)]
    return {**task.metadata, FAILURE_KEY: failure, **({SEND_BACKS_KEY: backs} if backs else {})}


def _list_all_send_backs(metadata: Mapping[str, object]) -> list[Mapping[str, object]]:
    found = metadata.get(SEND_BACKS_KEY)
    return [*found] if isinstance(found, list | tuple) else []


def _edit(entry: Entry, change: board.Edited) -> Entry:
    task = entry.task
    given = {
        name: value
        for name in ("title", "description", "priority", "depends_on", "assignee", "completion_spec")
        if (value := getattr(change, name)) is not None
    }
    entry = replace(entry, task=replace(task, **given))
    undone = next((role for role in entry.passed if _has_other_meaning(role, task, entry.task)), None)
    return entry if undone is None else _return_to_stage(entry, undone)


def _has_other_meaning(role: Role, before: Task, after: Task) -> bool:
    """Whether what its promise was verified by has changed. How often it may try is no part of that."""
    return _extract_meaning(role, before.completion_spec) != _extract_meaning(role, after.completion_spec)


def _extract_meaning(role: Role, spec: TaskCompletionSpec | None) -> object:
    own = spec.get_criteria_for_agent(role) if spec else None
    return spec and (spec.outcome, spec.acceptance_criteria, own and replace(own, max_iterations=None))


def _return_to_stage(entry: Entry, role: Role) -> Entry:
    """Returns the task to this stage; what passed there and later has to pass again."""
    passed = tuple(earlier for earlier in entry.passed if ROLES.index(earlier) < ROLES.index(role))
    return replace(entry, passed=passed, task=replace(entry.task, stage=role, iteration=0))


def _describe_reason(reason: str, entry: Entry) -> dict[str, object]:
    return {"reason": reason, "stage": entry.task.stage, "branch": entry.branch}


def _drop_keys(metadata: Mapping[str, object], *keys: str) -> dict[str, object]:
    return {key: value for key, value in metadata.items() if key not in keys}


def _require(condition: bool, task: Task, otherwise: str) -> None:
    if not condition:
        raise IllegalMove(f"task {task.id!r} {otherwise}", suggest_command(task))
