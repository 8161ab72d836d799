"""Runs whose process is gone: marked as lost, and what they left behind ended."""

import os
import sqlite3

from msgspec.structs import replace

from ralph.process.identity import Identity, is_alive
from ralph.stores.runs import RunRecord, Runs

LOST = "lost"
LOST_WHY = "its process ended without a word"


def lives(record: RunRecord) -> bool:
    """Whether the process that runs it does."""
    return is_alive(Identity(record.pid, record.ticks, record.boot))


def marked(database: sqlite3.Connection) -> Runs:
    """All runs, healed: what cannot be running is not shown as running."""
    runs = Runs(database)
    for record in runs.unfinished():
        if not lives(record):
            _mark(runs, database, record)
    return runs


def swept(database: sqlite3.Connection) -> Runs:
    """The same, and nothing of the dead is left: for before another run starts."""
    runs = Runs(database)
    for record in runs.unswept():
        if not lives(record):
            from ralph.process.leftovers import end_leftovers

            end_leftovers(record.id, Identity(record.guardian, record.guardian_ticks, record.boot))
            _mark(runs, database, record)
            runs.swept(record.id)
    return runs


def _mark(runs: Runs, database: sqlite3.Connection, record: RunRecord) -> None:
    runs.end(record.id, record.changed_at, LOST, LOST_WHY)
    if record.kind != "supervise":
        return
    from ralph.stores.attempts import Attempts, project

    status = "completed" if os.path.isfile(os.path.join(record.folder, "DONE")) else "failed"
    attempts = Attempts(database)
    for attempt in attempts.of(record.id):
        if attempt.status == "running":
            healed = replace(attempt, ended_at=record.changed_at, status=status, error=LOST_WHY)
            attempts.put(healed)
            project(healed, record.task, record.agent, record.parent or "")
