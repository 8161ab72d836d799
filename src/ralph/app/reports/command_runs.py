"""Which runs belong to one command, and what each was for."""

import msgspec
from msgspec import Struct

from ralph.app.board.run_titles import describe_request
from ralph.app.runs.recovery import mark_lost_runs
from ralph.app.runs.status import MAX_RUNS_NAMED, explain_missing_run
from ralph.model.board import NoSuchTask
from ralph.model.errors import CorruptState
from ralph.model.runs import RunRecord
from ralph.model.store_ports import Stores

MAX_RUNS_SEARCHED = 1000  # the latest
TASK_RUN_KIND = "execute"
MAX_GOAL_CHARS = 200


class _Tree(Struct, frozen=True):
    branch: str = ""


class _RequestWithTree(Struct, frozen=True, kw_only=True):
    worktree: _Tree | None = None


def list_command_runs(stores: Stores, name: str) -> list[RunRecord]:
    """The run of that name, or the newest; of `ralph execute` all that the same command ran, the first one first."""
    mark_lost_runs(stores)
    latest = stores.runs.list_latest(MAX_RUNS_NAMED)
    chosen = stores.runs.find_record(name) if name else next(iter(latest), None)
    if chosen is None:
        raise explain_missing_run(latest, name)
    if chosen.kind != TASK_RUN_KIND:
        return [chosen]
    others = stores.runs.list_latest(MAX_RUNS_SEARCHED)
    same = [run for run in others if run.kind == TASK_RUN_KIND and _identify_process(run) == _identify_process(chosen)]
    return same[::-1] if chosen in same else [chosen]


def list_runs_since(stores: Stores, since: float) -> list[RunRecord]:
    """All that ran at that time or later, the first one first."""
    mark_lost_runs(stores)
    latest = stores.runs.list_latest(MAX_RUNS_SEARCHED)
    return [run for run in reversed(latest) if run.ended_at is None or run.ended_at >= since]


def read_branch_of(request: bytes) -> str:
    """Where a run's work is, if that is not the user's own branch."""
    try:
        asked = msgspec.json.decode(request, type=_RequestWithTree)
    except msgspec.MsgspecError:
        return ""  # of another version
    return asked.worktree.branch if asked.worktree else ""


def describe_goal(record: RunRecord, stores: Stores) -> str:
    """What it was for, in a line: the task's title, the first line of the prompt, the list of stories."""
    if record.kind == TASK_RUN_KIND:
        return _find_task_title(stores, record.task)
    return describe_request(record.kind, stores.runs.read_request(record.id), record.task)[:MAX_GOAL_CHARS]


def _identify_process(run: RunRecord) -> tuple[int, int, str]:
    return run.pid, run.ticks, run.boot


def _find_task_title(stores: Stores, task: str) -> str:
    try:
        return stores.tasks.get(task).task.title
    except (NoSuchTask, CorruptState):
        return ""
