"""Use case: have a run that waits go on at once."""

import time

from ralph.app.paths import Paths
from ralph.app.runs.recovery import is_run_alive
from ralph.app.stores import open_existing_stores
from ralph.model.ports import Inbox
from ralph.model.runs import RunRecord
from ralph.model.store_ports import RunStore

WAKE_POLL_SECONDS = 1.0


def wake_waiting_run(paths: Paths, name: str) -> RunRecord | None:
    """The living run of that name, or the only one, that waits for a limit or an outage: woken. None: there is none."""
    with open_existing_stores(paths) as stores:
        if stores is None:
            return None
        waiting = [
            run
            for run in stores.runs.list_unfinished()
            if run.doing == "wait" and run.id.startswith(name) and is_run_alive(run)
        ]
        if len(waiting) != 1:
            return None
        run = waiting[0]
        stores.runs.add_wish(run.id, _name_wake(len(stores.runs.list_transitions(run.id))), time.time())
        return run


def wait_or_wake(seconds: float, *, run: str, transitions: int, runs: RunStore, inbox: Inbox) -> None:
    """Sleep, but no longer than until an interruption or until somebody wakes the run. `transitions`: how many it has
    now, so that nobody's wish for an earlier wait counts."""
    until, kind = time.monotonic() + seconds, _name_wake(transitions)
    while (left := until - time.monotonic()) > 0 and not inbox.poll_interruption():
        if runs.has_wish(run, kind):
            return
        inbox.wait(min(left, WAKE_POLL_SECONDS))


def _name_wake(transitions: int) -> str:
    return f"wake {transitions}"
