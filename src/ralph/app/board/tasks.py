"""Use cases of tasks: make, change, look at and delete them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.paths import Places
from ralph.config.schema import Settings
from ralph.core.tasks.criteria import Applicable
from ralph.core.tasks.task_reading import Found
from ralph.core.tasks.task_rules import hint
from ralph.model.board import Blocked, Cancelled, Card, Edited, Entry, Move, NoSuchTask, Problem, Refused, Reopened
from ralph.model.errors import UsageError
from ralph.model.spec import ROLES, Role, Status, Task, VerificationAttempt
from ralph.stores import sqlite
from ralph.stores.task_history import Spending
from ralph.stores.tasks import Tasks

if TYPE_CHECKING:
    from ralph.app.pipeline.stages import Limit

USUAL = Settings()


class Shown(Struct, frozen=True):
    """All there is to tell about a task."""

    entry: Entry
    criteria: Mapping[Role, Applicable]
    limits: "Mapping[Role, Limit]"
    attempts: Sequence[VerificationAttempt]
    log: Sequence[Mapping[str, object]]
    spent: Spending


class Wanted(Struct, frozen=True):
    """What someone wants changed; None, or nothing, for what stays."""

    title: str | None = None
    description: str | None = None
    priority: int | None = None
    depends_on: tuple[str, ...] | None = None
    assignee: str | None = None
    status: Status | None = None
    reason: str = ""  # for the status
    completion: Mapping[str, object] = {}


@contextmanager
def board(places: Places) -> Iterator[Tasks]:
    """The tasks of this repository."""
    with sqlite.explained(places.database):
        yield Tasks(sqlite.opened(places.database))


def cards(places: Places) -> list[Card]:
    """Every task, the most urgent first. Looking creates nothing."""
    if not os.path.exists(places.database):
        return []
    with board(places) as tasks:
        return tasks.board()


def show(places: Places, id_: str, settings: Settings = USUAL) -> Shown:
    """One task with everything; criteria and limits are those that will hold."""
    _expect_database(places, id_)
    with board(places) as tasks:
        return shown(tasks, id_, settings)


def shown(tasks: Tasks, id_: str, settings: Settings) -> Shown:
    """The same, of tasks that are open already."""
    from ralph.app.pipeline import stages

    entry, history = tasks.get(id_), tasks.history
    criteria = {role: stages.applicable(entry.task, role, settings) for role in ROLES}
    limits = {role: stages.limit_of(entry.task, role, settings, history.iterations_to_pass) for role in ROLES}
    return Shown(entry, criteria, limits, history.attempts(id_), history.log(id_), history.spent(id_))


def create(places: Places, raw: Mapping[str, object], parent: str = "", waits: bool = True) -> Task:
    """A new task, described as in YAML. A follow-up names its parent and, unless told otherwise, waits for it."""
    from ralph.app.board.task_parser import read_task

    read = read_task({"completion": {}, **raw})
    if read.task is None:
        raise Refused(read.problems)
    task = read.task
    with board(places) as tasks:
        if parent:
            needs = (*task.depends_on, *((tasks.get(parent).task.id,) if waits else ()))
            metadata = {**task.metadata, "followup_of": tasks.get(parent).task.id}
            task = replace(task, depends_on=tuple(dict.fromkeys(needs)), metadata=metadata)
        tasks.put_new([task])
    return task


def edit(places: Places, id_: str, wanted: Wanted) -> Entry:
    """Change what is asked for, or its status; all of it or nothing."""
    _expect_database(places, id_)
    with board(places) as tasks:
        changes = [*_edits(tasks.get(id_).task, wanted), *_moves(tasks.get(id_).task, wanted)]
        if not changes:
            raise UsageError(f"nothing to change in task {id_!r}", "see `ralph task edit --help`")
        tasks.apply(changes, f"edit:{uuid4()}")
        return tasks.get(id_)


def delete(places: Places, id_: str, with_history: bool) -> Entry:
    """Gone, with its history; where there is some, only when that is meant. What it was."""
    _expect_database(places, id_)
    with board(places) as tasks:
        entry, tries = tasks.get(id_), tasks.history.attempts(id_)
        if tries and not with_history:
            what = f"task {id_!r} has {len(tries)} verification attempts on record"
            raise UsageError(what, f"`ralph task delete {id_} --force` deletes them too")
        tasks.delete(id_)
        return entry


def _edits(task: Task, wanted: Wanted) -> list[Move]:
    from ralph.app.board.task_parser import read_edited

    given = {
        name: value for name in ("title", "description", "assignee") if (value := getattr(wanted, name)) is not None
    }
    problems: list[Problem] = []
    found = Found(given, problems)
    texts = {name: found.text(name, required="say it in a few words" if name == "title" else "") for name in given}
    if problems:
        raise Refused(problems)
    spec = (
        read_edited(task.completion_spec, wanted.completion, texts.get("title", task.title))
        if wanted.completion
        else None
    )
    edited = Edited(task.id, priority=wanted.priority, depends_on=wanted.depends_on, completion_spec=spec, **texts)
    return [] if edited == Edited(task.id) else [edited]


def _moves(task: Task, wanted: Wanted) -> list[Move]:
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
            raise UsageError(f"task {task.id!r} is in progress", hint(task))
        case status:
            raise UsageError(f"only the pipeline makes a task {status}", f"`ralph execute {task.id}`")


def _expect_database(places: Places, id_: str) -> None:
    """Looking for what cannot be there creates nothing."""
    if not os.path.exists(places.database):
        raise NoSuchTask(f"no task {id_!r}: there are none here yet", "make one with `ralph task create`")
