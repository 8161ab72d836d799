"""Agent runs of supervised tasks and child runs, in SQLite; `run-info.yaml` is a projection of a row."""

import os
import sqlite3
import time
from collections.abc import Iterator

from msgspec.structs import asdict

from ralph.model.supervised import AttemptRecord, ChildRun
from ralph.process.atomic_file import write_atomic
from ralph.stores.sqlite import read_by_name

_COLUMNS = "id, run, number, previous, project, folder, pid, started_at, ended_at, exit_code, status, error"
_VALUES = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
_INSERT_CHILD = (
    "INSERT OR REPLACE INTO child(parent, run, pid, ticks, boot, guardian)"
    " VALUES(:parent, :run, :pid, :ticks, :boot, :guardian)"
)


class AttemptStore:
    """Every change is one committed transaction; files come after."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def save(self, attempt: AttemptRecord) -> None:
        self._database.execute(f"INSERT OR REPLACE INTO attempt({_COLUMNS}) VALUES({_VALUES})", asdict(attempt))

    def list_for_run(self, run: str) -> Iterator[AttemptRecord]:
        rows = self._database.execute(f"SELECT {_COLUMNS} FROM attempt WHERE run=? ORDER BY number", (run,))
        return (AttemptRecord(**row) for row in read_by_name(rows))

    def add_child(self, child: ChildRun) -> None:
        """A run says whose child it is."""
        self._database.execute(_INSERT_CHILD, asdict(child))

    def list_children(self, parent: str) -> list[ChildRun]:
        """All that were ever started by a run's agents."""
        rows = self._database.execute("SELECT * FROM child WHERE parent=?", (parent,))
        return [ChildRun(**row) for row in read_by_name(rows)]


def write_run_info(attempt: AttemptRecord, task: str, agent: str, parent: str) -> None:
    """Write `run-info.yaml` anew; a full disk costs the file, never the run."""
    fields: dict[str, object] = {
        "run_id": attempt.id,
        "parent_run_id": parent,
        "previous_run_id": attempt.previous or "",
        "loop_id": attempt.run,
        "project_id": attempt.project,
        "task_id": task,
        "agent": agent,
        "pid": attempt.pid,
        "pgid": attempt.pid,
        "start_time": _format_iso_time(attempt.started_at),
        "end_time": _format_iso_time(attempt.ended_at) if attempt.ended_at else "",
        "exit_code": -1 if attempt.exit_code is None else attempt.exit_code,
        "status": attempt.status,
        "error_summary": attempt.error,
    }
    text = "".join(f"{name}: {_format_yaml_scalar(value)}\n" for name, value in fields.items())
    if not os.path.isdir(attempt.folder):
        return  # whoever deleted it does not want it back
    try:
        write_atomic(os.path.join(attempt.folder, "run-info.yaml"), text)
    except OSError:
        pass


def _format_yaml_scalar(value: object) -> str:
    """Numbers as they are, text as JSON writes it: that is YAML too."""
    import json

    return str(value) if isinstance(value, int) else json.dumps(value, ensure_ascii=False)


def _format_iso_time(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
