"""Use cases: what runs, how to end it, where its words are."""

import os
import time
from collections.abc import Sequence

from ralph.app.paths import Places
from ralph.app.runs.recovery import lives, marked
from ralph.model.errors import NoSuchRun
from ralph.stores import sqlite
from ralph.stores.runs import RunRecord, Runs

CANCEL_PATIENCE = 15.0


def recent(places: Places, count: int) -> Sequence[RunRecord]:
    """The newest runs. One whose process is gone is marked as lost."""
    with sqlite.explained(places.database):
        runs = _runs(places)
        return () if runs is None else runs.latest(count)


def cancel(places: Places, name: str) -> RunRecord:
    """Ask a run to end and see that it does; its work stays."""
    active = [r for r in recent(places, 1000) if r.ended_at is None]
    chosen = [r for r in active if r.id.startswith(name)]
    if len(chosen) != 1:
        known = ", ".join(r.id for r in active)
        what = (
            f"no active run {name!r}" if name and not chosen else "no run is active" if not active else "more than one"
        )
        raise NoSuchRun(what, f"active: {known}" if known else "see `ralph status`")
    runs = _runs(places)
    assert runs is not None
    with sqlite.explained(places.database):
        runs.wish(chosen[0].id, "cancel", time.time())
        return _ended(runs, chosen[0])


def _ended(runs: Runs, record: RunRecord) -> RunRecord:
    deadline = time.monotonic() + CANCEL_PATIENCE
    while time.monotonic() < deadline:
        if not lives(record):
            return runs.record(record.id) or record
        time.sleep(0.02)
    raise NoSuchRun(f"run {record.id} does not answer (pid {record.pid})", f"end it with `kill {record.pid}`")


def find(places: Places, name: str) -> RunRecord:
    """A run by its id or the beginning of it; the newest without a name."""
    runs = _runs(places)
    record = None if runs is None else runs.record(name) if name else next(iter(runs.latest(1)), None)
    if record is None:
        what = f"no run {name!r}, or more than one begins so" if name else "there is no run yet"
        raise NoSuchRun(what, "see `ralph status`")
    return record


def is_active(places: Places, run: str) -> bool:
    """Whether it still runs."""
    runs = _runs(places)
    record = None if runs is None else runs.record(run)
    return record is not None and record.ended_at is None and lives(record)


def _runs(places: Places) -> Runs | None:
    if not os.path.exists(places.database):
        return None
    return marked(sqlite.opened(places.database))
