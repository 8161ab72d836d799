"""Runs whose process is gone: marked as lost, and what they left behind ended. One that nobody can tell of is left
alone."""

import os
import time
from collections.abc import Callable

from msgspec.structs import replace

from ralph.app.paths import Paths
from ralph.model.runs import RunRecord
from ralph.model.store_ports import Stores
from ralph.process.identity import Liveness, ProcessIdentity, find_liveness

LOST_OUTCOME = "lost"
LOST_REASON = "its process is gone"


LEASE_SECONDS = 60.0  # a living run gives a sign of life six times as often
ABANDONED_SECONDS = 900.0  # without one, after which it cannot live


def is_run_alive(record: RunRecord) -> bool:
    """Whether its process runs, or may: what nobody can tell is not dead."""
    return find_run_liveness(record) != "dead"


def find_run_liveness(record: RunRecord) -> Liveness:
    """By its process, where that can be seen from here; by its signs of life where not."""
    found = find_process_liveness(record)
    if found != "unknown":
        return found
    silence = time.time() - find_last_sign(record)
    return "alive" if silence <= LEASE_SECONDS else "dead" if silence > ABANDONED_SECONDS else "unknown"


def find_process_liveness(record: RunRecord) -> Liveness:
    identity = ProcessIdentity(
        record.pid, record.ticks, record.boot, host=record.host, pid_namespace=record.pid_namespace
    )
    return find_liveness(identity)


def find_last_sign(record: RunRecord) -> float:
    """Unix time when the run last wrote anything."""
    return max(record.beat or 0.0, record.changed_at)


def mark_lost_runs(stores: Stores) -> None:
    """What cannot be running is not shown as running."""
    for record in stores.runs.list_unfinished():
        if not is_run_alive(record):
            _mark_lost(stores, record)


def clean_up_lost_runs(stores: Stores, paths: Paths, sweep: Callable[[str], object] = len) -> None:
    """The same, and nothing of the dead is left: for before another run starts. What an agent had said before its run
    could write it down goes on record. `sweep` ends what of a run is no process of ours."""
    for record in stores.runs.list_unswept():
        if not is_run_alive(record):
            from ralph.app.runs.lost_reports import recover_report
            from ralph.process.leftovers import end_leftovers

            end_leftovers(record.id, ProcessIdentity(record.guardian, record.guardian_ticks, record.boot))
            sweep(record.id)
            recover_report(stores.runs, stores.attempts, paths, record)
            _mark_lost(stores, record)
            stores.runs.mark_swept(record.id)


def recover_lost_reports(stores: Stores, paths: Paths) -> None:
    """For who wants to know what all runs cost: what agents of dead runs said last is on record after it."""
    for record in stores.runs.list_unswept():
        if not is_run_alive(record):
            from ralph.app.runs.lost_reports import recover_report

            recover_report(stores.runs, stores.attempts, paths, record)


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
