"""Agent runs of supervised tasks and child runs, in SQLite."""

import sqlite3

from msgspec.structs import asdict

from ralph.model.supervised import AttemptRecord, ChildRun
from ralph.stores.sqlite.database import read_by_name

_COLUMNS = "id, run, number, previous, project, folder, pid, started_at, ended_at, exit_code, status, error"
_VALUES = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
_INSERT_CHILD = (
    "INSERT OR REPLACE INTO child(parent, run, pid, ticks, boot, guardian)"
    " VALUES(:parent, :run, :pid, :ticks, :boot, :guardian)"
)


class SqliteAttemptStore:
    """Every change is one committed transaction."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def save(self, attempt: AttemptRecord) -> None:
        self._database.execute(f"INSERT OR REPLACE INTO attempt({_COLUMNS}) VALUES({_VALUES})", asdict(attempt))

    def list_for_run(self, run: str) -> list[AttemptRecord]:
        rows = self._database.execute(f"SELECT {_COLUMNS} FROM attempt WHERE run=? ORDER BY number", (run,))
        return [AttemptRecord(**row) for row in read_by_name(rows)]

    def add_child(self, child: ChildRun) -> None:
        """A run says whose child it is."""
        self._database.execute(_INSERT_CHILD, asdict(child))

    def list_children(self, parent: str) -> list[ChildRun]:
        """All that were ever started by a run's agents."""
        rows = self._database.execute("SELECT * FROM child WHERE parent=?", (parent,))
        return [ChildRun(**row) for row in read_by_name(rows)]
