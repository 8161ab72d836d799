"""Use cases of running loops: which tasks are worked on, and how to end the work on one."""

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from uuid import uuid4

from msgspec import Struct

from ralph.app.board.tasks import open_stores_with_task
from ralph.app.paths import Paths
from ralph.app.runs.recovery import is_run_alive
from ralph.app.stores import open_existing_stores, open_stores
from ralph.core.tasks.task_rules import CANCELLED_RUN_GONE, LOOP_KEY, format_status, suggest_command
from ralph.model.board import Cancelled, Entry, TaskCard
from ralph.model.errors import RalphError
from ralph.model.runs import RunRecord
from ralph.model.spec import AGENT_DEFAULTS, Role, Task
from ralph.model.store_ports import RunStore, TaskStore
from ralph.process.lock import find_lock_holder

TASK_CANCEL_TIMEOUT_SECONDS = 2.0
_POLL_SECONDS = 0.02


class ActiveTask(Struct, frozen=True, kw_only=True):
    """A task someone works on."""

    task: str
    title: str
    stage: Role
    iteration: int
    max_iterations: int
    started_at: float  # unix time
    alive: bool  # False: its run is gone, and it can be resumed
    worker: str


class TaskNotRunning(RalphError):
    """Nobody works on that task."""

    code = "not_running"


class RunNotResponding(RalphError):
    """The run that works on it does not react."""

    code = "no_answer"
    exit_code = 1


def list_active_tasks(places: Paths) -> list[ActiveTask]:
    """All tasks in progress, the most urgent first. Looking creates nothing."""
    with open_existing_stores(places) as stores:
        if stores is None:
            return []
        active = [card.id for card in stores.tasks.list_cards() if card.status == "in_progress"]
        entries = [stores.tasks.get(id_) for id_ in active]
        alive = _find_living_workers(places, stores.runs, {entry.worker for entry in entries})
        return [build_active_task(entry, alive[entry.worker]) for entry in entries]


def find_orphaned_tasks(places: Paths, cards: Iterable[TaskCard]) -> frozenset[str]:
    """Those in progress whose run is gone."""
    working = [card for card in cards if card.status == "in_progress"]
    if not working:
        return frozenset()
    with open_stores(places) as stores:
        alive = _find_living_workers(places, stores.runs, {card.worker for card in working})
    return frozenset(card.id for card in working if not alive[card.worker])


def cancel_task(places: Paths, id_: str, patience: float = TASK_CANCEL_TIMEOUT_SECONDS) -> ActiveTask:
    """End the work on a task and see that it ends: a wish for the run that works on it. Its work stays."""
    with open_stores_with_task(places, id_) as stores:
        tasks = stores.tasks
        entry = tasks.get(id_)
        if entry.task.status != "in_progress":
            raise TaskNotRunning(
                f"no Ralph loop runs for {id_} (it is {format_status(entry.task.status)})", suggest_command(entry.task)
            )
        loop = build_active_task(entry, _find_living_workers(places, stores.runs, {entry.worker})[entry.worker])
        if not loop.alive:
            tasks.apply([Cancelled(id_, CANCELLED_RUN_GONE)], f"cancel:{uuid4()}", entry.worker)
            return loop
        tasks.add_wish(id_, "cancel")
        return _await_end(tasks, loop, patience)


def _await_end(tasks: TaskStore, loop: ActiveTask, patience: float) -> ActiveTask:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        entry = tasks.get(loop.task)
        if entry.worker != loop.worker:
            return loop
        loop = build_active_task(entry, alive=True)
        time.sleep(_POLL_SECONDS)
    what = f"the run that works on {loop.task} ({loop.worker}) has not answered in {patience:g} s"
    raise RunNotResponding(what, f"the request stays; or cancel the whole run: `ralph cancel {loop.worker}`")


def _find_living_workers(places: Paths, runs: RunStore, workers: set[str]) -> Mapping[str, bool]:
    return {worker: _is_working(places, worker, runs.find_record(worker)) for worker in workers}


def _is_working(places: Paths, worker: str, record: RunRecord | None) -> bool:
    """Whether that run does. One that has just claimed its task is not on record yet."""
    if record is None or record.id != worker:
        return find_lock_holder(places.execute_lock) is not None
    return record.ended_at is None and is_run_alive(record)


def build_active_task(entry: Entry, alive: bool) -> ActiveTask:
    """Where the loop of a task in progress is."""
    task = entry.task
    stage: Role = task.stage or "coder"
    found = task.metadata.get(LOOP_KEY)
    loop = found if isinstance(found, dict) else {}
    return ActiveTask(
        task=task.id,
        title=task.title,
        stage=stage,
        iteration=task.iteration,
        max_iterations=int(loop.get("max_iterations") or _find_limit(task, stage)),
        started_at=_parse_unix_time(str(loop.get("started_at", ""))) or task.updated_at,
        alive=alive,
        worker=entry.worker,
    )


def _find_limit(task: Task, stage: Role) -> int:
    """Before the first agent of a stage, which says it."""
    own = task.completion_spec.get_criteria_for_agent(stage) if task.completion_spec else None
    return (own and own.max_iterations) or AGENT_DEFAULTS[stage].max_iterations


def _parse_unix_time(iso: str) -> float:
    try:
        return datetime.strptime(iso, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
