"""The board of tasks in SQLite. Safe with several processes: every change is one committed transaction."""

import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ralph.core.tasks.graph import find_cycle, format_cycle
from ralph.core.tasks.task_rules import apply_change
from ralph.model.board import (
    Attempted,
    Change,
    Claimed,
    CostRecorded,
    Edited,
    Entry,
    IllegalMove,
    InvalidInput,
    IterationEnded,
    NoSuchTask,
    Problem,
    Spec,
    TaskCard,
    suggest_spec_fix,
)
from ralph.model.spec import Role, Task
from ralph.stores.sqlite import task_rows
from ralph.stores.sqlite.database import transaction
from ralph.stores.sqlite.specs import SqliteSpecStore
from ralph.stores.sqlite.task_history import SqliteTaskHistory

_SEE_LIST_HINT = "see `ralph task list`"
_READY_QUERY = """
SELECT id FROM task WHERE status='todo'
 AND NOT EXISTS (SELECT 1 FROM task_dependency JOIN task needed ON needed.id = needs
                 WHERE task_dependency.task = task.id AND needed.status != 'done')
 AND (:among IS NULL OR id IN (SELECT value FROM json_each(:among)))
 AND id NOT IN (SELECT value FROM json_each(:besides))
 AND NOT EXISTS (SELECT 1 FROM pause WHERE kind='task' AND name=task.id)
ORDER BY priority, number LIMIT 1
"""


class SqliteTaskStore:
    """All tasks of one repository. A connection belongs to one thread: each worker opens its own."""

    def __init__(self, database: sqlite3.Connection, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self.specs = SqliteSpecStore(database, clock)
        self.history = SqliteTaskHistory(database)

    def list_cards(self) -> list[TaskCard]:
        """Every task, the most urgent first."""
        return task_rows.read_cards(self._database)

    def list_reasons(self) -> dict[str, str]:
        """Of each task that is blocked, or open again after a failure: the reason."""
        return task_rows.read_reasons(self._database)

    def get(self, id_: str) -> Entry:
        entry = task_rows.read_entry(self._database, id_)
        if entry is None:
            raise NoSuchTask(f"no task {id_!r}", _SEE_LIST_HINT)
        return entry

    def add_new(self, tasks: Sequence[Task], specs: Iterable[Spec] = ()) -> None:
        """All of them or none: names that are taken, unknown specs, unknown dependencies and cycles are refused."""
        now = self._clock()
        with transaction(self._database):
            self.specs.add_missing(specs)
            if problems := self._find_problems(tasks):
                raise InvalidInput(problems)
            for task in tasks:
                new = replace(task, created_at=task.created_at or now, updated_at=now)
                task_rows.insert_entry(self._database, Entry(task=new))
            for task in tasks:
                task_rows.write_dependencies(self._database, task)

    def claim(
        self,
        worker: str,
        among: Collection[str] | None = None,
        besides: Collection[str] = (),
        stage: Callable[[Task], Role | None] = lambda task: None,
    ) -> Entry | None:
        """Take the most urgent task that waits for nothing; None without one. `worker` is the id of a run, `stage` says
        where it is to begin."""
        ids = None if among is None else msgspec.json.encode([*among]).decode()
        with transaction(self._database):
            named = {"among": ids, "besides": msgspec.json.encode([*besides]).decode()}
            row = self._database.execute(_READY_QUERY, named).fetchone()
            if row is None:
                return None
            self._database.execute("DELETE FROM task_wish WHERE task=?", row)  # they were about its last worker
            return self._apply_change(Claimed(row[0], worker, stage(self.get(row[0]).task)))

    def apply(self, changes: Sequence[Change], key: str, worker: str = "") -> bool:
        """All of them or none, in order; a repeat with the same key does nothing (False).

        With a worker: only while the tasks are in its hands.
        """
        with transaction(self._database):
            if not self._database.execute("INSERT OR IGNORE INTO applied VALUES(?)", (key,)).rowcount:
                return False
            for task in {change.task for change in changes} if worker else ():
                self._require_worker(task, worker)
            for change in changes:
                self._apply_change(change)
            return True

    def delete(self, id_: str) -> None:
        """With all its history; not one that others need, or that someone works on."""
        with transaction(self._database):
            entry = self._database.execute("SELECT status FROM task WHERE id=?", (id_,)).fetchone()
            if entry is None:
                raise NoSuchTask(f"no task {id_!r}", _SEE_LIST_HINT)
            if entry[0] == "in_progress":
                raise IllegalMove(f"task {id_!r} is in progress", f"cancel it with `ralph task cancel {id_}`")
            rows = self._database.execute("SELECT task FROM task_dependency WHERE needs=? ORDER BY task", (id_,))
            if waiting := [row[0] for row in rows]:
                needed = f"task {id_!r} is needed by {', '.join(waiting)}"
                raise InvalidInput([Problem(("id",), needed, f"first `ralph task edit {waiting[0]} --no-depends-on`")])
            self._database.execute("DELETE FROM task WHERE id=?", (id_,))
            for table in ("pause", "note"):  # another task may get its name
                self._database.execute(f"DELETE FROM {table} WHERE kind='task' AND name=?", (id_,))

    def add_wish(self, task: str, kind: str) -> None:
        """Leave a note for the run that works on it."""
        self._database.execute("INSERT OR REPLACE INTO task_wish VALUES(?, ?, ?)", (task, kind, self._clock()))

    def has_wish(self, task: str, kind: str) -> bool:
        """Whether such a note is there; claiming the task removes it."""
        row = self._database.execute("SELECT 1 FROM task_wish WHERE task=? AND kind=?", (task, kind)).fetchone()
        return row is not None

    def list_wished(self, kind: str) -> frozenset[str]:
        return frozenset(row[0] for row in self._database.execute("SELECT task FROM task_wish WHERE kind=?", (kind,)))

    def _require_worker(self, task: str, worker: str) -> None:
        if (holder := self.get(task).worker) != worker:
            raise IllegalMove(f"task {task!r} is held by {holder or 'nobody'}, not by {worker}", "let it go")

    def _apply_change(self, change: Change) -> Entry:
        after = apply_change(self.get(change.task), change)
        if isinstance(change, Attempted | IterationEnded | CostRecorded):
            self.history.add(change)
            return after
        after = replace(after, task=replace(after.task, updated_at=self._clock()))
        task_rows.update_entry(self._database, after)
        if isinstance(change, Edited) and change.depends_on is not None:
            self._check_dependencies(after.task)
            task_rows.write_dependencies(self._database, after.task)
        return after

    def _check_dependencies(self, task: Task) -> None:
        known = self._list_ids("task")
        others = {id_: needs for id_, needs in task_rows.read_dependencies(self._database).items() if id_ != task.id}
        graph: dict[str, Collection[str]] = {task.id: task.depends_on, **others}  # a cycle is told from here
        problems = [*_find_unknown_needs(task, known), *_find_cycle_problems(graph)]
        if problems:
            raise InvalidInput(problems)

    def _find_problems(self, tasks: Sequence[Task]) -> list[Problem]:
        there, specs = self._list_ids("task"), self._list_ids("spec")
        known = {*there, *(task.id for task in tasks)}
        problems: list[Problem] = []
        seen: set[str] = set()
        for task in tasks:
            if task.id in there or task.id in seen:
                problems.append(Problem((task.id, "id"), f"there is a task {task.id!r} already", _SEE_LIST_HINT))
            if task.spec_id not in specs:
                missing = f"task {task.id!r}: no spec {task.spec_id!r}"
                problems.append(Problem((task.id, "spec_id"), missing, suggest_spec_fix(task.spec_id)))
            problems += _find_unknown_needs(task, known)
            seen.add(task.id)
        # Tasks that are there cannot need new ones: only the new can go round.
        return [*problems, *_find_cycle_problems({task.id: task.depends_on for task in tasks})]

    def _list_ids(self, table: str) -> set[str]:
        return {row[0] for row in self._database.execute(f"SELECT id FROM {table}")}


def _find_unknown_needs(task: Task, known: Collection[str]) -> list[Problem]:
    return [
        Problem((task.id, "dependencies"), f"task {task.id!r} depends on {need!r}, which is not there", _SEE_LIST_HINT)
        for need in task.depends_on
        if need not in known
    ]


def _find_cycle_problems(needs: Mapping[str, Collection[str]]) -> list[Problem]:
    found = find_cycle(needs)
    text = f"tasks wait for each other: {format_cycle(found)}"
    return [Problem((found[0], "dependencies"), text, "see `ralph task graph`")] if found else []
