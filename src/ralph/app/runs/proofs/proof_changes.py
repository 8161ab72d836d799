"""Use cases: which proofs a run changed, their diff, and a person's word that a change is right."""

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.runs.proofs.evidence import read_evidence
from ralph.app.runs.proofs.proof_receipt import note_accepted
from ralph.app.runs.snapshots import open_snapshot_reader
from ralph.app.runs.status import find_run
from ralph.app.stores import open_existing_stores
from ralph.config.location import shorten_home
from ralph.core.proofs.wording import name_files
from ralph.core.text.write_error import explain_write_error
from ralph.model.errors import NoSuchRun, UsageError
from ralph.model.proofs import ANY_BLOB, GONE_BLOB, ProofChange
from ralph.model.runs import RunRecord


class ProofDiff(Struct, frozen=True, kw_only=True):
    """The proofs a run changed, and how."""

    run: str
    changes: tuple[ProofChange, ...]
    diff: str = ""
    accepted: tuple[str, ...] = ()


class AcceptedChange(Struct, frozen=True, kw_only=True):
    """What was accepted, and of which run."""

    run: str
    outcome: str  # empty while it goes on
    kind: str
    task: str = ""  # whose next run goes on with it
    paths: tuple[str, ...]


def diff_proofs(places: Paths, name: str, variables: Mapping[str, str]) -> ProofDiff:
    """Against the tree the run started with; new tests are not shown, they are in the run's whole diff."""
    record, changes = _find_changes(places, name)
    shown = tuple(change for change in changes if change.is_suspect or change.check or change.kind == "doubtful")
    with open_snapshot_reader(places, variables) as reader:
        kept, accepted = reader.list(record.id), reader.open_accepted(record.id, _find_task(record))
        paths = [change.path for change in shown]
        start = reader.find_baseline(record.id) or (kept[0].commit if kept else "")
        diff = reader.diff(start, kept[-1].commit, paths) if paths and kept else ""
    return ProofDiff(run=record.id, changes=shown, diff=diff, accepted=tuple(accepted.read()) if accepted else ())


def accept_proofs(places: Paths, name: str, files: Sequence[str], variables: Mapping[str, str]) -> AcceptedChange:
    """From now on these files count as if the run had started with them as it left them."""
    record, changes = _find_changes(places, name)
    known = {change.path: change for change in changes if change.is_suspect}
    paths = [_choose_path(file, known, places, variables) for file in files]
    with open_snapshot_reader(places, variables) as reader:
        kept, accepted = reader.list(record.id), reader.open_accepted(record.id, _find_task(record))
        if accepted is None or not kept:
            raise NoSuchRun(
                f"run {record.id} has no snapshots", "they are kept for 30 days, unless `snapshots` is false"
            )
        for path in paths:
            blob = reader.find_blob(kept[-1].commit, path)
            old = blob or reader.find_blob(kept[0].commit, path)
            try:
                accepted.add(path, blob or (GONE_BLOB if old else ANY_BLOB))
            except OSError as error:
                raise explain_write_error(error.filename or path, error) from error
        note_accepted(places, record.id, tuple(accepted.read()))
    return AcceptedChange(
        run=record.id, outcome=record.outcome or "", kind=record.kind, task=_find_task(record), paths=tuple(paths)
    )


def _find_changes(places: Paths, name: str) -> tuple[RunRecord, tuple[ProofChange, ...]]:
    record = find_run(places, name)
    with open_existing_stores(places) as stores:
        rows = stores.runs.list_transitions(record.id) if stores else ()
    return record, read_evidence(rows).changed_proofs


def _find_task(record: RunRecord) -> str:
    """A task goes on in another run; what a supervised run is called by is no such task."""
    return record.task if record.kind == "execute" else ""


def _choose_path(file: str, known: Mapping[str, ProofChange], places: Paths, variables: Mapping[str, str]) -> str:
    """As the run names it, or from where we are."""
    below = os.path.relpath(os.path.join(places.started_in, file), places.root)
    for path in (file, below, shorten_home(file, variables)):
        if path in known:
            return path
    if not known:
        raise UsageError("that run changed nothing its checks rest on", "there is nothing to accept")
    raise UsageError(f"that run did not change {file!r}", f"changed: {name_files(list(known.values()))}")
