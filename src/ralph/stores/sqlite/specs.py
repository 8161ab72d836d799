"""Specs in SQLite: what tasks are there for."""

import sqlite3
import time
from collections.abc import Callable, Iterable

from ralph.model.board import InvalidInput, Problem, Spec, build_unknown_spec_error
from ralph.stores.sqlite.database import read_by_name, transaction


class SqliteSpecStore:
    """All specs of one repository. Every change is one committed transaction."""

    def __init__(self, database: sqlite3.Connection, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def list_all(self) -> list[tuple[Spec, int]]:
        """In the order of their making, each with the number of its tasks."""
        rows = self._database.execute(
            "SELECT id, title, text, created_at, updated_at, (SELECT count(*) FROM task WHERE spec_id=spec.id) AS tasks"
            " FROM spec ORDER BY rowid"
        )
        counted = []
        for row in read_by_name(rows):
            tasks = row.pop("tasks")
            counted.append((Spec(**row), tasks))
        return counted

    def get(self, id_: str) -> Spec:
        rows = self._database.execute("SELECT id, title, text, created_at, updated_at FROM spec WHERE id=?", (id_,))
        for row in read_by_name(rows):
            return Spec(**row)
        raise build_unknown_spec_error(id_)

    def add_new(self, spec: Spec) -> None:
        """Refuses a name that is taken."""
        with transaction(self._database):
            if not self.add_missing([spec]):
                taken = f"there is a spec {spec.id!r} already"
                raise InvalidInput([Problem(("id",), taken, f"change it with `ralph spec edit {spec.id}`")])

    def edit(self, id_: str, title: str | None = None, text: str | None = None) -> None:
        changed = self._database.execute(
            "UPDATE spec SET title=coalesce(?, title), text=coalesce(?, text), updated_at=? WHERE id=?",
            (title, text, self._clock(), id_),
        )
        if not changed.rowcount:
            raise build_unknown_spec_error(id_)

    def add_missing(self, specs: Iterable[Spec]) -> int:
        """Part of a transaction: those that are not there yet; how many that were."""
        now = self._clock()
        rows = [(spec.id, spec.title, spec.text, now, now) for spec in specs]
        return self._database.executemany("INSERT OR IGNORE INTO spec VALUES(?, ?, ?, ?, ?)", rows).rowcount
