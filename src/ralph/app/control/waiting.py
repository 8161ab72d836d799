"""Use case: wait until runs have ended."""

import time
from collections.abc import Sequence

from ralph.app.control.targets import find_target, list_running, open_for_control
from ralph.app.paths import Paths
from ralph.app.runs.recovery import is_run_alive, mark_lost_runs
from ralph.model.errors import NoSuchRun, UsageError
from ralph.model.loop import Outcome
from ralph.model.runs import RunRecord
from ralph.model.store_ports import Stores

WAIT_POLL_SECONDS = 0.25


def wait_for_runs(places: Paths, names: Sequence[str], timeout: float | None = None) -> list[RunRecord]:
    """Those runs as they ended; one that is still running when the time is up has no end. Without a name: all that are
    running. A task stands for the run that works on it, or its last one."""
    deadline = None if timeout is None else time.monotonic() + timeout
    with open_for_control(places) as stores:
        ids = [_find_run(stores, name) for name in names] or [run.id for run in list_running(stores)]
        if not ids:
            raise NoSuchRun("nothing is running", "name a run; see `ralph status`")
        while True:
            records = [record for id_ in ids if (record := stores.runs.find_record(id_))]
            if all(record.ended_at is not None for record in records):
                return records
            if any(record.ended_at is None and not is_run_alive(record) for record in records):
                mark_lost_runs(stores)
                continue
            if deadline is not None and time.monotonic() >= deadline:
                return records
            time.sleep(WAIT_POLL_SECONDS)


def find_exit_code(record: RunRecord) -> int:
    """As the command that ran it ended, or would have."""
    try:
        return Outcome(record.outcome).exit_code
    except ValueError:
        return 1  # lost: it had no last word


def _find_run(stores: Stores, name: str) -> str:
    target = find_target(stores, name)
    if target.run is None:
        raise UsageError(f"{target.name} was never started", f"start it with `ralph execute {target.name}`")
    return target.run.id
