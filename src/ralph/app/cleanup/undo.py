"""Use case: what a run changed, undone: files, new files, and its commits by a commit that reverts
them, or by a reset where the branch is its own."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from ralph.app.locked_stores import lock_and_open
from ralph.app.paths import Paths, find_paths
from ralph.app.run_identity import make_run_id
from ralph.app.runs.snapshots import SnapshotCommit, SnapshotReader, find_state_after, open_snapshot_reader
from ralph.app.runs.status import find_run
from ralph.app.wiring import build_git, build_snapshots
from ralph.model.errors import MachineError, NoSuchRun, UsageError
from ralph.model.ports import Processes
from ralph.workspaces.kept.linked_trees import reset_branch
from ralph.workspaces.kept.reverting import CommitRange, plan_revert, revert_commits
from ralph.workspaces.snapshots import Snapshots
from ralph.workspaces.worktree import locate_worktree

UNDO_SUFFIX = "-undo"
MAX_COMPARED_SNAPSHOTS = 200  # snapshots of a run


class UndoPlan(Struct, frozen=True, kw_only=True):
    """What would be done. Paths are from the root of the work tree."""

    run: str
    root: str
    title: str  # of the snapshot that comes back
    commit: str
    restored: tuple[str, ...] = ()  # changed or deleted by the run
    removed: tuple[str, ...] = ()  # created by it
    kept: tuple[str, ...] = ()  # changed by somebody since: not touched
    reverted: CommitRange | None = None
    problem: str = ""  # why its commits stay

    @property
    def is_empty(self) -> bool:
        return not (self.restored or self.removed or self.reverted)


class UndoneRun(Struct, frozen=True, kw_only=True):
    """What was done, and the name to undo that by."""

    plan: UndoPlan
    name: str
    revert_commit: str = ""


def plan_undo(places: Paths, name: str, to: int | None, variables: Mapping[str, str]) -> UndoPlan:
    """Nothing is changed by it."""
    run, root = _locate_run(places, name, variables)
    with _open_snapshots(root, f"{run}-plan", variables, keeps=False) as (reader, tree, processes):
        return _build_plan(reader, run, to, root=root, now=tree.look(), variables=variables, processes=processes)


def undo_run(places: Paths, name: str, to: int | None, variables: Mapping[str, str]) -> UndoneRun:
    """While nobody works there. What is there now is kept before and after, so this can be undone like a run."""
    run, root = _locate_run(places, name, variables)
    undo = f"{make_run_id()}{UNDO_SUFFIX}"
    with (
        lock_and_open(root, root.lock, undo, variables),
        _open_snapshots(root, undo, variables, keeps=True) as (reader, tree, processes),
    ):
        if problem := tree.save_initial_tree():
            raise MachineError(f"cannot take a snapshot of the current files first: {problem}", "nothing was undone")
        plan = _build_plan(reader, run, to, root=root, now=tree.tree(), variables=variables, processes=processes)
        if plan.is_empty:
            return UndoneRun(plan=plan, name="")
        reader.restore_paths(plan.commit, root.root, plan.restored)
        for path in plan.removed:
            _remove_file(root.root, path)
        commit = ""
        reader.note_root(undo, root.root)
        git = build_git(root.root, variables, processes)
        if plan.reverted and plan.reverted.branch and git:
            reset_branch(git, plan.reverted.branch, plan.reverted.start)
        elif plan.reverted and git:
            commit = revert_commits(git, plan.reverted, f"Revert what ralph run {run} committed", reader.scratch_index)
        tree.save_tree_after(1)
    return UndoneRun(plan=plan, name=undo, revert_commit=commit)


def _locate_run(places: Paths, name: str, variables: Mapping[str, str]) -> tuple[str, Paths]:
    """The run, and the work tree it worked in. An undoing has no record, only snapshots."""
    if name.endswith(UNDO_SUFFIX):
        with open_snapshot_reader(places, variables) as reader:
            return name, find_paths(reader.read_root(name) or places.root)
    record = find_run(places, name)
    own = locate_worktree(places.main_root, record.task) if record.kind == "execute" else ""
    if own and os.path.exists(os.path.join(own, ".git")):  # what has landed is undone where it landed
        return record.id, find_paths(own)
    if not os.path.isdir(record.folder):
        raise UsageError(f"the folder of run {record.id} is gone: {record.folder}", f"try `ralph recover {record.id}`")
    return record.id, find_paths(record.folder)


@contextmanager
def _open_snapshots(
    root: Paths, name: str, variables: Mapping[str, str], *, keeps: bool
) -> Iterator[tuple[SnapshotReader, Snapshots, Processes]]:
    with open_snapshot_reader(root, variables) as reader:
        tree = build_snapshots(keeps, name, tree=root, variables=variables, processes=reader.processes)
        if tree is None:
            raise MachineError("git is not on PATH", "install it: snapshots are kept by git")
        yield reader, tree, reader.processes


def _build_plan(
    reader: SnapshotReader,
    run: str,
    to: int | None,
    *,
    root: Paths,
    now: str,
    variables: Mapping[str, str],
    processes: Processes,
) -> UndoPlan:
    kept = reader.list(run)
    if not kept:
        raise NoSuchRun(f"run {run} has no snapshots", "they are kept for 30 days, unless `snapshots` is false")
    target, last = _choose_target(kept, run, to), kept[-1]
    still = {change.path for change in reader.compare(target.commit, now)}
    changed = [change for change in reader.compare(target.commit, last.commit) if change.path in still]
    since = {change.path for change in reader.compare(last.commit, now)} & {change.path for change in changed}
    since -= _list_known(reader, kept, now, since)
    done = [change for change in changed if change.path not in since]
    git = build_git(root.root, variables, processes)
    heads = reader.read_head(target.commit), reader.read_head(last.commit)
    commits, problem = plan_revert(git, *heads, root.root) if git else (None, "")
    return UndoPlan(
        run=run,
        root=root.root,
        title="before that undo" if run.endswith(UNDO_SUFFIX) else target.title,
        commit=target.commit,
        restored=tuple(change.path for change in done if change.old_blob),
        removed=tuple(change.path for change in done if not change.old_blob),
        kept=tuple(sorted(since)),
        reverted=commits,
        problem=problem,
    )


def _choose_target(kept: tuple[SnapshotCommit, ...], run: str, to: int | None) -> SnapshotCommit:
    """The state after that iteration: one that changed nothing has no snapshot of its own."""
    wanted = to or 0
    found = find_state_after(kept, wanted)
    if wanted > max((each.iteration or 0 for each in kept), default=0) or found is None:
        raise UsageError(f"run {run} has no iteration {wanted} to go back to", f"see `ralph show {run}`")
    return found


def _list_known(reader: SnapshotReader, kept: tuple[SnapshotCommit, ...], now: str, paths: set[str]) -> set[str]:
    """Files that are as the run itself had them at some time: an undo to another iteration did that, nobody else."""
    if not paths:
        return set()
    present = reader.list_blobs(now, paths)
    known = [reader.list_blobs(each.commit, paths) for each in kept[-MAX_COMPARED_SNAPSHOTS:]]
    return {path for path in paths if any(each.get(path) == present.get(path) for each in known)}


def _remove_file(root: str, path: str) -> None:
    """Never through a link that leads out of the work tree; folders that are empty then go, too."""
    place = os.path.join(root, path)
    folder = os.path.dirname(place)
    inside = os.path.realpath(folder)
    if inside != root and not inside.startswith(f"{os.path.realpath(root)}{os.sep}"):
        return
    try:
        os.unlink(place)
        while folder != root:
            os.rmdir(folder)
            folder = os.path.dirname(folder)
    except OSError:
        pass  # gone already, or something else is in it
