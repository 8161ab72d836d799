"""Use cases: what runs, how to end it, where its words are."""

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from ralph.app.paths import Paths
from ralph.app.runs.forecast import describe_run_forecast
from ralph.app.runs.recovery import find_process_liveness, is_run_alive, mark_lost_runs
from ralph.app.stores import open_existing_stores
from ralph.core.reporting.next_steps import EndedRun, build_resume_command
from ralph.model.errors import NoSuchRun
from ralph.model.runs import RunRecord
from ralph.model.store_ports import RunStore

RUN_CANCEL_TIMEOUT_SECONDS = 15.0
MAX_RUNS_NAMED = 20  # the latest, that a beginning may have meant


def list_recent_runs(places: Paths, count: int) -> Sequence[RunRecord]:
    """The newest runs. One whose process is gone is marked as lost."""
    with _open_runs(places) as runs:
        return () if runs is None else runs.list_latest(count)


def describe_expectations(places: Paths, kinds: Collection[str]) -> dict[str, str]:
    """By kind of run: what earlier ones let one expect; those of which too little is known are left out."""
    with _open_runs(places) as runs:
        found = {} if runs is None else {kind: describe_run_forecast(runs, kind) for kind in kinds}
    return {kind: text for kind, text in found.items() if text}


def count_unrecorded_runs(places: Paths) -> int:
    """Folders of runs; asked where no run is on record."""
    try:
        return len(os.listdir(os.path.join(places.state, "runs")))
    except OSError:
        return 0


def explain_lost_records(places: Paths) -> NoSuchRun | None:
    """Where no run is on record, and there are some on disk: their database is gone. Else None."""
    if not (lost := count_unrecorded_runs(places)) or list_recent_runs(places, 1):
        return None
    words = f"no run is on record, but {lost} on disk: {places.database} was deleted or emptied"
    return NoSuchRun(words, f"their logs are in {places.state}/runs; start a new run with `ralph run -p PROMPT`")


def cancel_run(places: Paths, name: str) -> RunRecord:
    """Ask a run to end and see that it does; its work stays."""
    active = [r for r in list_recent_runs(places, 1000) if r.ended_at is None]
    chosen = [r for r in active if r.id.startswith(name)]
    if len(chosen) != 1:
        known = ", ".join(r.id for r in active)
        what = (
            f"no active run {name!r}" if name and not chosen else "no run is active" if not active else "more than one"
        )
        raise NoSuchRun(what, f"active: {known}" if known else "see `ralph status`")
    with _open_runs(places) as runs:
        assert runs is not None
        runs.add_wish(chosen[0].id, "cancel", time.time())
        return _await_end(runs, chosen[0])


def _await_end(runs: RunStore, record: RunRecord) -> RunRecord:
    deadline = time.monotonic() + RUN_CANCEL_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if not is_run_alive(record):
            return runs.find_record(record.id) or record
        is_told = record.kind == "execute" or find_process_liveness(record) == "unknown"  # others may live on there
        if is_told and (ended := _find_ended(runs, record)):
            return ended
        time.sleep(0.02)
    if find_process_liveness(record) == "unknown":
        raise NoSuchRun(
            f"run {record.id} does not answer, and its process cannot be seen from here ({describe_place(record)})",
            "if it is alive, it stops at its next check; else stop it there",
        )
    raise NoSuchRun(f"run {record.id} does not answer (pid {record.pid})", f"stop it with `kill {record.pid}`")


def _find_ended(runs: RunStore, record: RunRecord) -> RunRecord | None:
    found = runs.find_record(record.id)
    return found if found is not None and found.ended_at is not None else None


def describe_place(record: RunRecord) -> str:
    """Where a run is that cannot be seen from here."""
    here = os.uname().nodename
    return f"on {record.host}" if record.host not in ("", here) else "in another container or PID namespace"


def name_resume_command(record: RunRecord) -> str:
    """What to type to go on with work that was cut off."""
    folder = os.path.relpath(record.folder) if os.path.isdir(record.folder) else record.folder
    ended = EndedRun(run=record.id, kind=record.kind, outcome=record.outcome or "", task=record.task, folder=folder)
    return build_resume_command(ended)


def find_run(places: Paths, name: str) -> RunRecord:
    """A run by its id or the beginning of it; the newest without a name."""
    with _open_runs(places) as runs:
        latest = runs.list_latest(MAX_RUNS_NAMED) if runs else []
        record = runs.find_record(name) if runs and name else next(iter(latest), None)
    if record is None:
        raise explain_lost_records(places) or explain_missing_run(latest, name)
    return record


def explain_missing_run(latest: Sequence[RunRecord], name: str) -> NoSuchRun:
    """Why a name stands for no run; `latest`: those it could have meant."""
    near = [record.id for record in latest if name and record.id.startswith(name)]
    if near:
        return NoSuchRun(f"{name!r} is ambiguous: {', '.join(near)}", "type more characters")
    return NoSuchRun(f"no run matches {name!r}" if name else "there is no run yet", "see `ralph status`")


def is_run_active(places: Paths, run: str) -> bool:
    with _open_runs(places) as runs:
        record = None if runs is None else runs.find_record(run)
    return record is not None and record.ended_at is None and is_run_alive(record)


@contextmanager
def _open_runs(places: Paths) -> Iterator[RunStore | None]:
    with open_existing_stores(places) as stores:
        if stores is not None:
            mark_lost_runs(stores)
        yield None if stores is None else stores.runs
