"""Use cases of tasks: make, change, look at and delete them."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.paths import Paths
from ralph.app.stores import has_stores, open_existing_stores, open_stores
from ralph.config.schema import Settings
from ralph.core.tasks.criteria import ApplicableCriteria
from ralph.core.tasks.task_reading import MappingReader
from ralph.core.tasks.task_rules import suggest_command
from ralph.model.board import (
    Blocked,
    Cancelled,
    Edited,
    Entry,
    InvalidInput,
    NoSuchTask,
    Problem,
    Reopened,
    Spec,
    Spending,
    TaskCard,
    TaskMove,
)
from ralph.model.errors import UsageError
from ralph.model.spec import ROLES, Role, Task, TaskStatusName, VerificationAttempt
from ralph.model.store_ports import Stores, TaskStore

if TYPE_CHECKING:
    from ralph.app.pipeline.stages import IterationLimit

DEFAULT_SETTINGS = Settings()
TaskCheck = Callable[[Sequence[Task]], object]  # raises RalphError for what cannot be done here


class TaskDetails(Struct, frozen=True, kw_only=True):
    """All there is to tell about a task."""

    entry: Entry
    criteria: Mapping[Role, ApplicableCriteria]
    limits: "Mapping[Role, IterationLimit]"
    attempts: Sequence[VerificationAttempt]
    log: Sequence[Mapping[str, object]]
    spent: Spending


class TaskEdit(Struct, frozen=True, kw_only=True):
    """What someone wants changed; None, or nothing, for what stays."""

    title: str | None = None
    description: str | None = None
    priority: int | None = None
    depends_on: tuple[str, ...] | None = None
    assignee: str | None = None
    status: TaskStatusName | None = None
    reason: str = ""  # for the status
    completion: Mapping[str, object] = {}


@contextmanager
def open_board(places: Paths) -> Iterator[TaskStore]:
    """The tasks of this repository."""
    with open_stores(places) as stores:
        yield stores.tasks


@contextmanager
def open_stores_with_task(places: Paths, task: str) -> Iterator[Stores]:
    """For what is done with a task that must be there; looking for what cannot be there creates nothing."""
    if not has_stores(places):
        raise NoSuchTask(f"no task {task!r}: there are no tasks yet", "create one with `ralph task create`")
    with open_stores(places) as stores:
        yield stores


def list_cards(places: Paths) -> list[TaskCard]:
    """Every task, the most urgent first. Looking creates nothing."""
    with open_existing_stores(places) as stores:
        return [] if stores is None else stores.tasks.list_cards()


def list_tasks_with_text(places: Paths) -> list[Task]:
    """Every task with its description, the most urgent first."""
    with open_existing_stores(places) as stores:
        return [] if stores is None else [stores.tasks.get(card.id).task for card in stores.tasks.list_cards()]


def list_cards_with_reasons(places: Paths) -> tuple[list[TaskCard], dict[str, str]]:
    """The same, and why tasks are blocked or how they failed."""
    with open_existing_stores(places) as stores:
        return ([], {}) if stores is None else (stores.tasks.list_cards(), stores.tasks.list_reasons())


def load_task_details(places: Paths, id_: str, settings: Settings = DEFAULT_SETTINGS) -> TaskDetails:
    """One task with everything; criteria and limits are those that will hold."""
    with open_stores_with_task(places, id_) as stores:
        return collect_task_details(stores.tasks, id_, settings, places)


def collect_task_details(tasks: TaskStore, id_: str, settings: Settings, places: Paths) -> TaskDetails:
    """The same, of tasks that are open already."""
    from ralph.app.pipeline import stages

    entry, history = tasks.get(id_), tasks.history
    criteria = {role: stages.resolve_stage_criteria(entry.task, role, settings) for role in ROLES}
    limits = {role: stages.resolve_limit(entry.task, role, settings, history.list_iterations_to_pass) for role in ROLES}
    return TaskDetails(
        entry=entry,
        criteria=criteria,
        limits=limits,
        attempts=[_locate_log(attempt, places) for attempt in history.list_attempts(id_)],
        log=history.list_iterations(id_),
        spent=history.sum_for_task(id_),
    )


def _locate_log(attempt: VerificationAttempt, places: Paths) -> VerificationAttempt:
    """With the path of what it printed, as long as somebody keeps that."""
    path = os.path.join(places.run_dir(attempt.run), attempt.log) if attempt.log and attempt.run else ""
    return replace(attempt, log=path if path and os.path.exists(path) else "")


def create_task(
    places: Paths,
    raw: Mapping[str, object],
    parent: str = "",
    *,
    waits: bool = True,
    makes_spec: bool = False,
    check: TaskCheck = len,
) -> Task:
    """A new task, described as in YAML, unless `check` refuses it. A follow-up names its parent and, unless told
    otherwise, waits for it. `makes_spec`: a spec that is not there yet comes with it."""
    from ralph.app.board.task_parser import parse_task

    read = parse_task({"completion": {}, **raw})
    if read.task is None:
        raise InvalidInput(read.problems)
    task = read.task
    check((task,))
    with open_board(places) as tasks:
        if parent:
            followed = tasks.get(parent).task.id
            needs = (*task.depends_on, *((followed,) if waits else ()))
            metadata = {**task.metadata, "followup_of": followed}
            task = replace(task, depends_on=tuple(dict.fromkeys(needs)), metadata=metadata)
        tasks.add_new([task], [Spec(id=task.spec_id, title=task.spec_id)] if makes_spec else ())
    return task


def edit_task(places: Paths, id_: str, wanted: TaskEdit) -> Entry:
    """Change what is asked for, or its status; all of it or nothing."""
    with open_stores_with_task(places, id_) as stores:
        tasks = stores.tasks
        changes = [*_editing_changes(tasks.get(id_).task, wanted), *_status_changes(tasks.get(id_).task, wanted)]
        if not changes:
            raise UsageError(f"nothing to change in task {id_!r}", "see `ralph task edit --help`")
        tasks.apply(changes, f"edit:{uuid4()}")
        return tasks.get(id_)


def delete_task(places: Paths, id_: str, with_history: bool) -> Entry:
    """Gone, with its history; where there is some, only when that is meant. What it was."""
    with open_stores_with_task(places, id_) as stores:
        tasks = stores.tasks
        entry, tries = tasks.get(id_), tasks.history.list_attempts(id_)
        if tries and not with_history:
            what = f"task {id_!r} has {len(tries)} verification attempts on record"
            raise UsageError(what, f"`ralph task delete {id_} --force` deletes them too")
        tasks.delete(id_)
        return entry


def _editing_changes(task: Task, wanted: TaskEdit) -> list[TaskMove]:
    from ralph.app.board.task_parser import parse_edited_criteria

    given = {
        name: value for name in ("title", "description", "assignee") if (value := getattr(wanted, name)) is not None
    }
    problems: list[Problem] = []
    found = MappingReader(given, problems)
    texts = {name: found.read_text(name, required="write a few words" if name == "title" else "") for name in given}
    if problems:
        raise InvalidInput(problems)
    spec = (
        parse_edited_criteria(task.completion_spec, wanted.completion, texts.get("title", task.title))
        if wanted.completion
        else None
    )
    edited = Edited(task=task.id, priority=wanted.priority, depends_on=wanted.depends_on, completion_spec=spec, **texts)
    return [] if edited == Edited(task=task.id) else [edited]


def _status_changes(task: Task, wanted: TaskEdit) -> list[TaskMove]:
    match wanted.status:
        case None:
            return []
        case status if status == task.status:
            return []
        case "todo":
            return [Reopened(task.id)]
        case "blocked":
            return [Blocked(task.id, wanted.reason)]
        case "cancelled" if task.status != "in_progress":
            return [Cancelled(task.id, wanted.reason)]
        case "cancelled":
            raise UsageError(f"task {task.id!r} is in progress", suggest_command(task))
        case status:
            raise UsageError(f"only the pipeline makes a task {status}", f"`ralph execute {task.id}`")
