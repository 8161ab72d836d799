"""Forgets what nobody will want back: snapshots of a month ago, and the indexes of work trees that are gone."""

import os
import time

from ralph.workspaces.git import Git
from ralph.workspaces.own_git import OwnGit
from ralph.workspaces.pins import Pins

SNAPSHOT_DAYS = 30
RUN_REFS = ("refs/ralph", "refs/baseline")  # of ours, one a run below each
PROJECT_REFS = "refs/ralph"  # where runs of version 0.1 have theirs
_STAMP = "cleaned"
_DAY_SECONDS = 86_400


def forget_old_snapshots(own: OwnGit, git: Git | None) -> None:
    """At most once a day; before the first look of a run, for what is left of an index may lack its files."""
    stamp = own.path(_STAMP)
    if os.path.exists(stamp) and os.stat(stamp).st_mtime > time.time() - _DAY_SECONDS:
        return
    with open(stamp, "wb"):
        pass
    oldest = time.strftime("%Y%m%d", time.localtime(time.time() - SNAPSHOT_DAYS * _DAY_SECONDS))
    removed = [_remove_run(own, name) for name in _list_runs(own) if name[:8] < oldest]
    if git is not None:
        Pins(own, git).unpin_older_than(SNAPSHOT_DAYS * _DAY_SECONDS)
        _remove_project_refs(git, oldest)
    for name in own.list_refs("work"):
        if removed or not os.path.exists(_read_root(own, name)):
            _remove_folder(own.path("work", name))
    if removed:
        own.run("prune", "--expire=2.weeks.ago", own_objects=True)


def _list_runs(own: OwnGit) -> set[str]:
    return {name for folder in (*RUN_REFS, "runs") for name in own.list_refs(folder)}


def _remove_run(own: OwnGit, name: str) -> str:
    for folder in RUN_REFS:
        if os.path.exists(path := own.path(folder, name)):
            os.unlink(path)
    _remove_folder(own.path("runs", name))
    return name


def _remove_folder(path: str) -> None:
    import shutil  # once a day at most

    shutil.rmtree(path, ignore_errors=True)


def _remove_project_refs(git: Git, oldest: str) -> None:
    listed = git.run("for-each-ref", "--format=%(refname)", f"{PROJECT_REFS}/")
    for ref in listed.text.splitlines():
        if ref.removeprefix(f"{PROJECT_REFS}/")[:8] < oldest:
            git.run("-c", "core.hooksPath=/dev/null", "update-ref", "-d", ref)


def _read_root(own: OwnGit, name: str) -> str:
    try:
        with open(own.path("work", name, "seen"), encoding="utf-8", errors="surrogateescape") as file:
            return file.read().partition("\0")[0]
    except OSError:
        return ""
