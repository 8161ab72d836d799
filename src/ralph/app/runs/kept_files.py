"""Use cases: what a run changed, and the files of a snapshot put back."""

import os
import time
from collections.abc import Mapping

from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.processes import open_short_lived_processes
from ralph.app.runs.snapshots import SnapshotCommit, SnapshotReader, find_state_after, open_snapshot_reader
from ralph.app.runs.status import find_run
from ralph.app.wiring import build_snapshots
from ralph.model.errors import NoSuchRun, UsageError
from ralph.model.ports import Processes

NO_SNAPSHOTS_HINT = "they are kept for 30 days, unless `snapshots` is false"


class RestoredFiles(Struct, frozen=True, kw_only=True):
    """Which snapshot, where to, and how to undo it."""

    commit: str
    folder: str
    before: str = ""  # a snapshot of what was there; empty where nothing was


def diff_run(places: Paths, name: str, between: tuple[int, int] | None, variables: Mapping[str, str]) -> str:
    """What all of a run changed, or what changed from after one of its iterations to after another; empty where that is
    nothing."""
    record = find_run(places, name)
    run = record.id
    with open_snapshot_reader(places, variables) as reader:
        kept = reader.list(run)
        if not kept:
            raise NoSuchRun(f"run {run} has no snapshots", NO_SNAPSHOTS_HINT)
        last = max(record.iteration, *(each.iteration or 0 for each in kept))
        if between is not None and between[1] > last:
            raise UsageError(f"run {run} has no iteration {between[1]}", f"see `ralph show {run}`")
        older, newer = _choose_pair(kept, between)
        return "" if older == newer else reader.diff(older.commit, newer.commit)


def restore_files(places: Paths, commit: str, into: str, variables: Mapping[str, str]) -> RestoredFiles:
    """Write the files of a snapshot over those in the work tree, which are kept first, or into an empty folder."""
    folder = _make_folder(os.path.join(places.started_in, into)) if into else places.root
    with open_short_lived_processes() as processes:
        before = "" if into else _keep_present_files(places, variables, processes)
        whole = SnapshotReader(places, variables, processes).restore(commit, folder)
    return RestoredFiles(commit=whole, folder=folder, before=before)


def _make_folder(path: str) -> str:
    if os.path.lexists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise UsageError(f"{path} is not empty", "give --into a folder that does not exist yet")
    os.makedirs(path, exist_ok=True)
    return path


def _keep_present_files(places: Paths, variables: Mapping[str, str], processes: Processes) -> str:
    """As a snapshot of no run, which is forgotten after a month like all others."""
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-restore"
    keep = build_snapshots(True, name, tree=places, variables=variables, processes=processes)
    if keep is not None:
        keep.save_initial_tree()
    return next((kept.commit for kept in SnapshotReader(places, variables, processes).list(name)), "")


def _choose_pair(
    kept: tuple[SnapshotCommit, ...], between: tuple[int, int] | None
) -> tuple[SnapshotCommit, SnapshotCommit]:
    if between is None:
        return kept[0], kept[-1]
    older, newer = (find_state_after(kept, iteration) or kept[0] for iteration in between)
    return older, newer
