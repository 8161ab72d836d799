"""Which runs belong to one command, and what each was for."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from ralph.app.runs.recovery import mark_lost_runs
from ralph.app.runs.status import MAX_RUNS_NAMED, explain_missing_run
from ralph.model.board import NoSuchTask
from ralph.model.errors import CorruptState
from ralph.model.runs import RunRecord
from ralph.model.store_ports import Stores

MAX_RUNS_SEARCHED = 1000  # the latest
TASK_RUN_KIND = "execute"
MAX_GOAL_CHARS = 200


class _Place(Struct, frozen=True):
    folder: str = ""


class _Tree(Struct, frozen=True):
    branch: str = ""


class RequestParts(Struct, frozen=True, kw_only=True):
    """As much of what a run began with as tells what it was for."""

    prompt: str | None = None
    prompt_file: str | None = None
    place: _Place = _Place()
    worktree: _Tree | None = None

    @property
    def branch(self) -> str:
        """Where its work is, if that is not the user's own branch."""
        return self.worktree.branch if self.worktree else ""


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


def read_request_parts(request: bytes) -> RequestParts:
    try:
        return msgspec.json.decode(request, type=RequestParts)
    except msgspec.MsgspecError:
        return RequestParts()  # of another version


def describe_goal(record: RunRecord, stores: Stores) -> str:
    """What it was for, in a line: the task's title, the first line of the prompt, the list of stories."""
    if record.kind == TASK_RUN_KIND:
        return _find_task_title(stores, record.task)
    asked = read_request_parts(stores.runs.read_request(record.id))
    words: Sequence[str] = (asked.prompt or "").strip().splitlines()
    told = words[0].strip("# ") if words else asked.prompt_file or ""
    return (told or record.task or asked.place.folder.rstrip("/").rpartition("/")[2])[:MAX_GOAL_CHARS]


def _identify_process(run: RunRecord) -> tuple[int, int, str]:
    return run.pid, run.ticks, run.boot


def _find_task_title(stores: Stores, task: str) -> str:
    try:
        return stores.tasks.get(task).task.title
    except (NoSuchTask, CorruptState):
        return ""
