"""Which run or task a name stands for."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.runs.recovery import is_run_alive
from ralph.app.runs.status import explain_missing_run
from ralph.app.stores import open_existing_stores
from ralph.core.text.quantities import list_some
from ralph.model.board import Entry, NoSuchTask
from ralph.model.control import WHOLE_EXECUTE, Subject
from ralph.model.errors import NoSuchRun, UsageError
from ralph.model.runs import RunRecord
from ralph.model.store_ports import Stores

MAX_RUNS_TO_STEER = 1000
_EXECUTE_KIND = "execute"


class Target(Struct, frozen=True, kw_only=True):
    """What is steered, and where it stands."""

    subject: Subject
    run: RunRecord | None = None  # its newest; None: a task nobody has worked on, or `ralph execute` as a whole
    task: Entry | None = None  # of the board
    is_running: bool = False  # an agent may start at any time

    @property
    def name(self) -> str:
        """As people know it."""
        return self.subject.name or "ralph execute"

    @property
    def has_ended_well(self) -> bool:
        if self.task is not None:
            return self.task.task.status == "done"
        return self.run is not None and self.run.outcome == "completed"


@contextmanager
def open_for_control(places: Paths) -> Iterator[Stores]:
    """What is remembered here; NoSuchRun where nothing is."""
    with open_existing_stores(places) as stores:
        if stores is None:
            raise NoSuchRun("there is no run here yet", "start one with `ralph run -p PROMPT`")
        yield stores


def find_target(stores: Stores, name: str) -> Target:
    """By the id of a task, the id of a run or the beginning of one, the name of a supervised task; without a name what
    is running, if that is one thing."""
    if not name:
        return _find_only_target(stores)
    if (entry := find_task(stores, name)) is not None:
        return build_task_target(stores, entry)
    latest = stores.runs.list_latest(MAX_RUNS_TO_STEER)
    record = stores.runs.find_record(name) or next((run for run in latest if run.task == name), None)
    if record is None:
        raise _explain_missing(latest, name)
    return build_run_target(stores, record)


def is_known_name(places: Paths, name: str) -> bool:
    """Whether it is the whole name of a run or a task."""
    with open_existing_stores(places) as stores:
        if stores is None:
            return False
        record = stores.runs.find_record(name)
        return (record is not None and record.id == name) or find_task(stores, name) is not None


def build_run_target(stores: Stores, record: RunRecord) -> Target:
    """A run of `ralph execute` stands for its task."""
    if record.kind == _EXECUTE_KIND and (entry := find_task(stores, record.task)) is not None:
        return build_task_target(stores, entry)
    running = record.ended_at is None and is_run_alive(record)
    return Target(subject=Subject("run", record.id), run=record, is_running=running)


def build_task_target(stores: Stores, entry: Entry) -> Target:
    task = entry.task
    last = entry.worker or stores.runs.find_last_of_task(_EXECUTE_KIND, task.id, since=task.created_at)
    record = stores.runs.find_record(last) if last else None
    running = record is not None and record.ended_at is None and is_run_alive(record)
    return Target(subject=Subject("task", task.id), run=record, task=entry, is_running=running)


def find_task(stores: Stores, name: str) -> Entry | None:
    try:
        return stores.tasks.get(name)
    except NoSuchTask:
        return None


def list_running(stores: Stores) -> list[RunRecord]:
    return [run for run in stores.runs.list_unfinished() if is_run_alive(run)]


def _find_only_target(stores: Stores) -> Target:
    running = list_running(stores)
    if not running:
        raise NoSuchRun("nothing is running", "name a run or a task; see `ralph status`")
    if len(running) == 1:
        return build_run_target(stores, running[0])
    if all(run.kind == _EXECUTE_KIND for run in running):
        return Target(subject=WHOLE_EXECUTE, is_running=True)
    raise explain_ambiguity(running)


def explain_ambiguity(running: Sequence[RunRecord]) -> UsageError:
    names = [run.task if run.kind == _EXECUTE_KIND else run.id for run in running]
    return UsageError("more than one is running", f"name the one you mean: {list_some(names, 5)}")


def _explain_missing(latest: Sequence[RunRecord], name: str) -> NoSuchRun:
    found = explain_missing_run(latest, name)
    if "ambiguous" in found.message:
        return found
    return NoSuchRun(f"no run or task matches {name!r}", "see `ralph status` and `ralph task list`")
