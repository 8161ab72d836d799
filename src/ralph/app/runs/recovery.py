"""Runs whose process is gone: marked as lost, and what they left behind ended."""

import os
import sqlite3

from msgspec.structs import replace

from ralph.process.identity import ProcessIdentity, is_alive
from ralph.stores.runs import RunRecord, RunStore

LOST_OUTCOME = "lost"
LOST_REASON = "its process ended without a word"


def is_run_alive(record: RunRecord) -> bool:
    """Whether the process that runs it does."""
    return is_alive(ProcessIdentity(record.pid, record.ticks, record.boot))


def mark_lost_runs(database: sqlite3.Connection) -> RunStore:
    """All runs, healed: what cannot be running is not shown as running."""
    runs = RunStore(database)
    for record in runs.list_unfinished():
        if not is_run_alive(record):
            _mark_lost(runs, database, record)
    return runs


def clean_up_lost_runs(database: sqlite3.Connection) -> RunStore:
    """The same, and nothing of the dead is left: for before another run starts."""
    runs = RunStore(database)
    for record in runs.list_unswept():
        if not is_run_alive(record):
            from ralph.process.leftovers import end_leftovers

            end_leftovers(record.id, ProcessIdentity(record.guardian, record.guardian_ticks, record.boot))
            _mark_lost(runs, database, record)
            runs.mark_swept(record.id)
    return runs


def _mark_lost(runs: RunStore, database: sqlite3.Connection, record: RunRecord) -> None:
    runs.end(record.id, record.changed_at, LOST_OUTCOME, LOST_REASON)
    if record.kind != "supervise":
        return
    from ralph.stores.attempts import AttemptStore, write_run_info

    status = "completed" if os.path.isfile(os.path.join(record.folder, "DONE")) else "failed"
    attempts = AttemptStore(database)
    for attempt in attempts.list_for_run(record.id):
        if attempt.status == "running":
            healed = replace(attempt, ended_at=record.changed_at, status=status, error=LOST_REASON)
            attempts.save(healed)
            write_run_info(healed, record.task, record.agent, record.parent or "")
