"""Forgets what nobody will want back: snapshots of a month ago, and the indexes of work trees that are gone."""

import fcntl
import os
import time
from collections.abc import Iterable

from ralph.workspaces.git import Git
from ralph.workspaces.own_git import OwnGit
from ralph.workspaces.pins import Pins

SNAPSHOT_DAYS = 30
RUN_REFS = ("refs/ralph", "refs/baseline")  # of ours, one a run below each
PROJECT_REFS = "refs/ralph"  # where runs of version 0.1 have theirs
_STAMP_FILE = "cleaned"
_DAY_SECONDS = 86_400


def forget_old_snapshots(own: OwnGit, git: Git | None) -> None:
    """At most once a day; before the first look of a run, for what is left of an index may lack its files."""
    stamp = own.path(_STAMP_FILE)
    if os.path.exists(stamp) and os.stat(stamp).st_mtime > time.time() - _DAY_SECONDS:
        return
    with open(stamp, "wb"):
        pass
    oldest = time.strftime("%Y%m%d", time.localtime(time.time() - SNAPSHOT_DAYS * _DAY_SECONDS))
    removed = [_remove_run(own, name) for name in _list_runs(own) if name[:8] < oldest]
    removed += [_remove_run(own, name) for name in own.list_refs("refs/baseline") if _is_old(own, name)]
    if git is not None:
        Pins(own, git).unpin_older_than(SNAPSHOT_DAYS * _DAY_SECONDS)
        _remove_project_refs(git, oldest)
    for name in own.list_refs("work"):
        if removed or _is_root_gone(own, name):
            _remove_unused(own.path("work", name))
    if removed:
        own.run("prune", "--expire=2.weeks.ago", own_objects=True)
    pack_snapshots(own)


def list_run_names(folder: str) -> set[str]:
    """Runs that our git directory keeps something of."""
    found: set[str] = set()
    for part in (*RUN_REFS, "runs"):
        try:
            found.update(os.listdir(os.path.join(folder, part)) if folder else ())
        except OSError:
            continue
    return found


def forget_runs(own: OwnGit, names: Iterable[str]) -> None:
    """Their snapshots are gone for good, once git has pruned them."""
    if [_remove_run(own, name) for name in names]:
        own.run("prune", "--expire=2.weeks.ago", own_objects=True)


def count_loose_objects(folder: str) -> int:
    """Files of our git directory that packing makes one of."""
    objects = os.path.join(folder, "store")
    try:
        return sum(len(os.listdir(os.path.join(objects, name))) for name in os.listdir(objects) if len(name) == 2)
    except OSError:
        return 0


def pack_snapshots(own: OwnGit) -> None:
    """Thousands of small files become one. What no snapshot holds stays as it is: a run may be about to use it."""
    own.run("repack", "-d", "-l", "--quiet", own_objects=True, borrows=True)


def _list_runs(own: OwnGit) -> set[str]:
    return {name for folder in (*RUN_REFS, "runs") for name in own.list_refs(folder)}


def _is_old(own: OwnGit, name: str) -> bool:
    """Of a task: its name has no date."""
    return os.stat(own.path("refs/baseline", name)).st_mtime < time.time() - SNAPSHOT_DAYS * _DAY_SECONDS


def _remove_run(own: OwnGit, name: str) -> str:
    for folder in RUN_REFS:
        if os.path.exists(path := own.path(folder, name)):
            os.unlink(path)
    _remove_folder(own.path("runs", name))
    return name


def _remove_unused(path: str) -> None:
    """An index that no run looks with."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove_folder(path)
    except BlockingIOError:
        pass
    finally:
        os.close(handle)


def _remove_folder(path: str) -> None:
    import shutil  # once a day at most

    shutil.rmtree(path, ignore_errors=True)


def _remove_project_refs(git: Git, oldest: str) -> None:
    listed = git.run("for-each-ref", "--format=%(refname)", f"{PROJECT_REFS}/")
    for ref in listed.text.splitlines():
        if ref.removeprefix(f"{PROJECT_REFS}/")[:8] < oldest:
            git.run("-c", "core.hooksPath=/dev/null", "update-ref", "-d", ref)


def _is_root_gone(own: OwnGit, name: str) -> bool:
    try:
        with open(own.path("work", name, "seen"), encoding="utf-8", errors="surrogateescape") as file:
            return not os.path.exists(file.read().partition("\0")[0])
    except OSError:
        return False  # somebody is about to look
