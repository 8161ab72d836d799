"""A repository that was moved or copied: what is on record speaks of the place where it was."""

import os
from collections.abc import Mapping
from contextlib import suppress

import msgspec
from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.runs.recovery import LOST_OUTCOME, is_run_alive
from ralph.model.store_ports import Stores
from ralph.process.atomic_file import write_atomic
from ralph.workspaces.own_dir import adopt_own_dir

PLACE_FILE = "place.json"
COPIED_MARK = "copied"  # a note on a run of the repository this one is a copy of


class Place(Struct, frozen=True):
    """Where a repository was when ralph last started in it."""

    root: str
    state: str


def settle_moved_repository(stores: Stores, paths: Paths, variables: Mapping[str, str]) -> None:
    """Put what is on record right, if the repository is no longer where it was. Runs of the one it was copied from stay
    that one's; while a run of ours may be alive, nothing is touched."""
    here = Place(paths.main_root, paths.state)
    before = _read_place(paths)
    if before == here:
        return
    if before is not None:
        is_copy = _is_another_database(before, here)
        if is_copy:
            _disown_runs(stores, before)
        elif any(map(is_run_alive, stores.runs.list_unfinished())):
            return
        stores.runs.move_folders(before.root, here.root)
        if paths.in_git:
            common = os.path.dirname(paths.state)
            repair_worktree_links(common, before.root, here.root)
            if not is_copy:
                adopt_own_dir(variables, os.path.dirname(before.state), common)
    with suppress(OSError):  # told the next time
        write_atomic(os.path.join(paths.state, PLACE_FILE), msgspec.json.encode(here).decode())


def _disown_runs(stores: Stores, before: Place) -> None:
    """Their processes, if there are any, are at work in the other place, and must not be ended from here."""
    reason = f"it belongs to {before.root}, which this is a copy of"
    open_runs = {record.id: record for record in (*stores.runs.list_unfinished(), *stores.runs.list_unswept())}
    for record in stores.runs.list_latest(1000):
        if record.outcome != "completed":
            stores.runs.add_wish(record.id, COPIED_MARK, record.changed_at)
        if record.id in open_runs:
            stores.runs.end(record.id, record.changed_at, LOST_OUTCOME, reason)
            stores.runs.mark_swept(record.id)


def _is_another_database(before: Place, here: Place) -> bool:
    try:
        return not os.path.samefile(os.path.join(before.state, "ralph.db"), os.path.join(here.state, "ralph.db"))
    except OSError:
        return False


def _read_place(paths: Paths) -> Place | None:
    try:
        with open(os.path.join(paths.state, PLACE_FILE), "rb") as file:
            return msgspec.json.decode(file.read(), type=Place)
    except (OSError, msgspec.MsgspecError):
        return None


def repair_worktree_links(common: str, before: str, now: str) -> None:
    """As `git worktree repair` does, but also where the old place is still there: those of a copy must not lead to the
    original. Only work trees below the moved folder are ours to put right."""
    base = os.path.join(common, "worktrees")
    for name in os.listdir(base) if os.path.isdir(base) else ():
        link = os.path.join(base, name, "gitdir")
        target = _read_line(link)
        if not target.startswith(f"{before}/"):
            continue
        moved = now + target.removeprefix(before)
        if os.path.isfile(moved):  # the `.git` of the work tree
            write_atomic(link, f"{moved}\n")
            write_atomic(moved, f"gitdir: {os.path.join(base, name)}\n")


def _read_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().strip()
    except OSError:
        return ""
