"""Runs whose process is gone: marked as lost, and what they left behind ended."""

import os

from msgspec.structs import replace

from ralph.app.paths import Paths
from ralph.model.runs import RunRecord
from ralph.model.store_ports import Stores
from ralph.process.identity import ProcessIdentity, is_alive

LOST_OUTCOME = "lost"
LOST_REASON = "its process ended without a word"


def is_run_alive(record: RunRecord) -> bool:
    """Whether the process that runs it does."""
    return is_alive(ProcessIdentity(record.pid, record.ticks, record.boot))


def mark_lost_runs(stores: Stores) -> None:
    """What cannot be running is not shown as running."""
    for record in stores.runs.list_unfinished():
        if not is_run_alive(record):
            _mark_lost(stores, record)


def clean_up_lost_runs(stores: Stores, paths: Paths) -> None:
    """The same, and nothing of the dead is left: for before another run starts. What an agent had said before its run
    could write it down goes on record."""
    for record in stores.runs.list_unswept():
        if not is_run_alive(record):
            from ralph.app.runs.lost_reports import recover_report
            from ralph.process.leftovers import end_leftovers

            end_leftovers(record.id, ProcessIdentity(record.guardian, record.guardian_ticks, record.boot))
            recover_report(stores, paths, record)
            _mark_lost(stores, record)
            stores.runs.mark_swept(record.id)


def recover_lost_reports(stores: Stores, paths: Paths) -> None:
    """For who wants to know what all runs cost: what agents of dead runs said last is on record after it."""
    for record in stores.runs.list_unswept():
        if not is_run_alive(record):
            from ralph.app.runs.lost_reports import recover_report

            recover_report(stores, paths, record)


def _mark_lost(stores: Stores, record: RunRecord) -> None:
    stores.runs.end(record.id, record.changed_at, LOST_OUTCOME, LOST_REASON)
    if record.kind != "supervise":
        return
    from ralph.app.runs.run_info import write_run_info

    status = "completed" if os.path.isfile(os.path.join(record.folder, "DONE")) else "failed"
    for attempt in stores.attempts.list_for_run(record.id):
        if attempt.status == "running":
            healed = replace(attempt, ended_at=record.changed_at, status=status, error=LOST_REASON)
            stores.attempts.save(healed)
            write_run_info(healed, record.task, record.agent, record.parent or "")
