"""Use case: what old runs left on disk, removed. What is still needed to resume, and what is the user's, stays."""

import os
import shutil
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

import msgspec
from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.processes import open_short_lived_processes
from ralph.app.repositories import forget_repository
from ralph.app.runs.recovery import is_run_alive
from ralph.app.runs.settings_watch import forget_watching
from ralph.app.runs.snapshots import find_snapshot_folder
from ralph.app.stores import open_existing_stores
from ralph.app.wiring import build_git
from ralph.model.board import NoSuchTask
from ralph.model.errors import Busy
from ralph.model.runs import RunRecord
from ralph.model.store_ports import Stores
from ralph.process.shell import find_program
from ralph.workspaces.kept.old_snapshots import count_loose_objects, forget_runs, list_run_names, pack_snapshots
from ralph.workspaces.kept.old_worktrees import OldWorktree, list_old_worktrees, remove_worktree
from ralph.workspaces.own_git import OwnGit
from ralph.workspaces.worktree import WORKTREES_FOLDER, forget_exclusions

DEFAULT_KEEP_DAYS = 30
MANY_LOOSE_OBJECTS = 500  # worth packing though nothing is old
_FINISHED_STATUSES = ("done", "cancelled")
_LOG_STARTS, _LOG_ENDS = ("guardrail_", "prompt_", "verification_"), (".log", ".txt")
_MAX_RUNS = 1_000_000
_RALPH_REFS = "refs/ralph/"


class CleaningPlan(Struct, frozen=True, kw_only=True):
    """What would be removed."""

    runs: tuple[str, ...] = ()  # folders and records
    folders: tuple[str, ...] = ()  # of runs that nobody has a record of
    logs: tuple[str, ...] = ()  # in .ralph/
    snapshots: tuple[str, ...] = ()  # the runs they are of
    worktrees: tuple[OldWorktree, ...] = ()  # of tasks and runs that are gone; those with a problem stay
    loose: int = 0  # files of snapshots that are to be packed
    size: int = 0  # bytes of folders and logs
    everything: tuple[str, ...] = ()  # whole folders, where nothing is to be left

    @property
    def is_empty(self) -> bool:
        return not self.loose and not self._removes

    @property
    def only_packs(self) -> bool:
        return bool(self.loose) and not self._removes

    @property
    def _removes(self) -> bool:
        return any(
            (self.runs, self.folders, self.logs, self.snapshots, self.removable_worktrees, self.everything),
        )

    @property
    def removable_worktrees(self) -> tuple[OldWorktree, ...]:
        return tuple(tree for tree in self.worktrees if not tree.problem)


def plan_cleaning(paths: Paths, older_than: float, variables: Mapping[str, str]) -> CleaningPlan:
    """Nothing is removed by it. `older_than`: seconds."""
    oldest = time.time() - older_than
    with open_existing_stores(paths) as stores:
        known = stores.runs.list_latest(_MAX_RUNS) if stores else []
        over = [record for record in known if record.ended_at is not None and record.ended_at < oldest]
        runs = [record.id for record in over if stores and _is_needed_no_more(record, stores)]
    folders = _list_unknown(paths, {record.id for record in known}, oldest) if known else ()
    logs = tuple(_list_logs(paths.dot_ralph, oldest))
    day = time.strftime("%Y%m%d", time.localtime(oldest))
    own = find_snapshot_folder(paths, variables)
    kept = {record.id for record in known} - set(runs)
    names = [name for name in list_run_names(own) if name[:8] < day and name[:8].isdecimal() and name not in kept]
    places = (*(paths.run_dir(run) for run in (*runs, *folders)), *logs)
    loose = count_loose_objects(own)
    return CleaningPlan(
        runs=tuple(runs),
        folders=folders,
        logs=logs,
        snapshots=tuple(sorted(names)),
        loose=loose if loose >= MANY_LOOSE_OBJECTS else 0,
        size=sum(map(_measure, places)),
    )


def add_worktrees(plan: CleaningPlan, paths: Paths, older_than: float, variables: Mapping[str, str]) -> CleaningPlan:
    """The same with work trees of tasks that are gone or over, and of `ralph run --worktree` without a run. They hold
    work: no run removes them by itself."""
    with open_existing_stores(paths) as stores:
        cards = stores.tasks.list_cards() if stores else []
        records = stores.runs.list_latest(_MAX_RUNS) if stores else []
    below = os.path.join(paths.main_root, WORKTREES_FOLDER) + os.sep
    runs = (record.folder.removeprefix(below) for record in records if record.folder.startswith(below))
    needed = {card.id for card in cards if card.status not in _FINISHED_STATUSES}
    needed |= {name.partition(os.sep)[0] for name in runs} - {card.id for card in cards}
    return _add_worktrees(plan, paths, needed, older_than=older_than, variables=variables)


def clean_up(plan: CleaningPlan, paths: Paths, variables: Mapping[str, str]) -> None:
    """A record goes first: a folder without one is found again, a record without a folder tells nothing."""
    with open_existing_stores(paths) as stores:
        for run in plan.runs:
            if stores is not None:
                stores.runs.delete(run)
    for run in (*plan.runs, *plan.folders):
        shutil.rmtree(paths.run_dir(run), ignore_errors=True)
    for log in plan.logs:
        _remove(log)
    _remove_worktrees(plan, paths, variables)
    own = find_snapshot_folder(paths, variables)
    if own:
        with open_short_lived_processes() as processes:
            program = find_program("git", variables, paths.root) or "git"
            git = OwnGit(program, own, root=paths.root, environment=variables, processes=processes)
            forget_runs(git, plan.snapshots)
            pack_snapshots(git)


def plan_removal_of_all(paths: Paths, variables: Mapping[str, str]) -> CleaningPlan:
    """All that ralph keeps of a repository, but for settings and for what agents committed or left uncommitted."""
    with open_existing_stores(paths) as stores:
        alive = [record.id for record in (stores.runs.list_unfinished() if stores else ()) if is_run_alive(record)]
    if alive:
        raise Busy(f"run {alive[0]} is active", "stop it with `ralph cancel`, then try again")
    own = find_snapshot_folder(paths, variables)
    everything = tuple(folder for folder in (paths.state, own) if folder and os.path.isdir(folder))
    logs = tuple(_list_logs(paths.dot_ralph, time.time()))
    plan = CleaningPlan(logs=logs, size=sum(map(_measure, (*everything, *logs))), everything=everything)
    return _add_worktrees(plan, paths, set(), older_than=0.0, variables=variables)


def remove_all(plan: CleaningPlan, paths: Paths, variables: Mapping[str, str]) -> None:
    _remove_worktrees(plan, paths, variables)
    for log in plan.logs:
        _remove(log)
    for folder in plan.everything:
        shutil.rmtree(folder, ignore_errors=True)
    forget_repository(paths, variables)
    forget_watching(paths, variables)
    with suppress(OSError):
        os.rmdir(os.path.join(paths.main_root, WORKTREES_FOLDER))
        forget_exclusions(os.path.dirname(paths.state))
    with suppress(OSError):
        os.rmdir(paths.dot_ralph)  # settings and work trees keep it
    with open_short_lived_processes() as processes:
        if git := build_git(paths.root, variables, processes):
            for ref in git.run("for-each-ref", "--format=%(refname)", _RALPH_REFS).text.splitlines():
                git.run("update-ref", "-d", ref)


def _add_worktrees(
    plan: CleaningPlan, paths: Paths, needed: Collection[str], *, older_than: float, variables: Mapping[str, str]
) -> CleaningPlan:
    with open_short_lived_processes() as processes:
        git = build_git(paths.main_root, variables, processes)
        found = list_old_worktrees(git, paths.main_root, needed, time.time() - older_than) if git else []
    size = plan.size + sum(_measure(tree.folder) for tree in found if not tree.problem)
    return msgspec.structs.replace(plan, worktrees=tuple(found), size=size)


def _remove_worktrees(plan: CleaningPlan, paths: Paths, variables: Mapping[str, str]) -> None:
    if plan.removable_worktrees:
        with open_short_lived_processes() as processes:
            project = build_git(paths.main_root, variables, processes)
            for tree in plan.removable_worktrees:
                if project is not None:
                    remove_worktree(project, tree)


def _is_needed_no_more(record: RunRecord, stores: Stores) -> bool:
    """A task that is not finished goes on with what its last run left."""
    if not record.task or record.kind != "execute":
        return True
    try:
        return stores.tasks.get(record.task).task.status in _FINISHED_STATUSES
    except NoSuchTask:
        return True


def _list_unknown(paths: Paths, known: set[str], oldest: float) -> tuple[str, ...]:
    """Old folders without a record. A lost database has none at all: then nothing is touched."""
    try:
        entries = list(os.scandir(os.path.join(paths.state, "runs")))
    except OSError:
        return ()
    return tuple(each.name for each in entries if each.name not in known and each.stat().st_mtime < oldest)


def _list_logs(folder: str, oldest: float) -> Iterable[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for each in entries:
        is_log = each.name.startswith(_LOG_STARTS) and each.name.endswith(_LOG_ENDS)
        if is_log and each.is_file(follow_symlinks=False) and each.stat().st_mtime < oldest:
            yield each.path


def _measure(path: str) -> int:
    if not os.path.isdir(path):
        return os.lstat(path).st_size if os.path.lexists(path) else 0
    return sum(os.lstat(os.path.join(at, name)).st_size for at, _, names in os.walk(path) for name in names)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # gone already
