"""Use cases of running loops: which tasks are worked on, and how to end the work on one."""

import os
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from uuid import uuid4

from msgspec import Struct

from ralph.app.board.tasks import board
from ralph.app.paths import Places
from ralph.app.runs.recovery import lives
from ralph.core.tasks.task_rules import LOOP, RUN_GONE, hint, spoken
from ralph.model.board import Cancelled, Card, Entry, NoSuchTask
from ralph.model.errors import RalphError
from ralph.model.spec import DEFAULTS, Role
from ralph.process.lock import holder_of
from ralph.stores.runs import RunRecord, Runs
from ralph.stores.sqlite import opened
from ralph.stores.tasks import Tasks

PATIENCE = 2.0
_EACH = 0.02


class Loop(Struct, frozen=True):
    """A task someone works on."""

    task: str
    title: str
    stage: Role
    iteration: int
    max_iterations: int
    started_at: float  # unix time
    alive: bool  # False: its run is gone, and it can be resumed
    worker: str


class NotRunning(RalphError):
    """Nobody works on that task."""

    code = "not_running"


class NoAnswer(RalphError):
    """The run that works on it does not react."""

    code = "no_answer"
    exit_code = 1


def loops(places: Places) -> list[Loop]:
    """All tasks in progress, the most urgent first. Looking creates nothing."""
    if not os.path.exists(places.database):
        return []
    with board(places) as tasks:
        active = [card.id for card in tasks.board() if card.status == "in_progress"]
        entries = [tasks.get(id_) for id_ in active]
        alive = _alive(places, {entry.worker for entry in entries})
        return [loop_of(entry, alive[entry.worker]) for entry in entries]


def cut_off(places: Places, cards: Iterable[Card]) -> frozenset[str]:
    """Those in progress whose run is gone."""
    working = [card for card in cards if card.status == "in_progress"]
    alive = _alive(places, {card.worker for card in working}) if working else {}
    return frozenset(card.id for card in working if not alive[card.worker])


def cancel(places: Places, id_: str, patience: float = PATIENCE) -> Loop:
    """End the work on a task and see that it ends: a wish for the run that works on it. Its work stays."""
    if not os.path.exists(places.database):
        raise NoSuchTask(f"no task {id_!r}: there are none here yet", "make one with `ralph task create`")
    with board(places) as tasks:
        entry = tasks.get(id_)
        if entry.task.status != "in_progress":
            raise NotRunning(f"no Ralph loop runs for {id_} (it is {spoken(entry.task.status)})", hint(entry.task))
        loop = loop_of(entry, _alive(places, {entry.worker})[entry.worker])
        if not loop.alive:
            tasks.apply([Cancelled(id_, RUN_GONE)], f"cancel:{uuid4()}", entry.worker)
            return loop
        tasks.wish(id_, "cancel")
        return _ended(tasks, loop, patience)


def _ended(tasks: Tasks, loop: Loop, patience: float) -> Loop:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        entry = tasks.get(loop.task)
        if entry.worker != loop.worker:
            return loop
        loop = loop_of(entry, alive=True)
        time.sleep(_EACH)
    what = f"the run that works on {loop.task} ({loop.worker}) has not answered in {patience:g} s"
    raise NoAnswer(what, f"the wish stays; or end the whole run: `ralph cancel {loop.worker}`")


def _alive(places: Places, workers: set[str]) -> Mapping[str, bool]:
    runs = Runs(opened(places.database))
    return {worker: _works(places, worker, runs.record(worker)) for worker in workers}


def _works(places: Places, worker: str, record: RunRecord | None) -> bool:
    """Whether that run does. One that has just claimed its task is not on record yet."""
    if record is None or record.id != worker:
        return holder_of(places.crew_lock) is not None
    return record.ended_at is None and lives(record)


def loop_of(entry: Entry, alive: bool) -> Loop:
    """Where the loop of a task in progress is."""
    task = entry.task
    stage: Role = task.stage or "coder"
    found = task.metadata.get(LOOP)
    loop = found if isinstance(found, dict) else {}
    return Loop(
        task.id,
        task.title,
        stage,
        task.iteration,
        int(loop.get("max_iterations") or DEFAULTS[stage].max_iterations),
        _unix(str(loop.get("started_at", ""))) or task.updated_at,
        alive,
        entry.worker,
    )


def _unix(iso: str) -> float:
    try:
        return datetime.strptime(iso, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
