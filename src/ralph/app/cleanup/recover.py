"""Use case: files that were lost after a run, brought back from its last snapshot."""

import os
from collections.abc import Mapping

from msgspec import Struct

from ralph.app.locked_stores import lock_and_open
from ralph.app.paths import Paths, find_paths
from ralph.app.run_identity import make_run_id
from ralph.app.runs.snapshots import SnapshotReader, open_snapshot_reader
from ralph.app.runs.status import find_run
from ralph.app.wiring import build_git, build_snapshots
from ralph.model.errors import MachineError, NoSuchRun
from ralph.workspaces.kept.linked_trees import reopen_work_tree

RECOVER_SUFFIX = "-recover"


class RecoveryPlan(Struct, frozen=True, kw_only=True):
    """What is lost. `missing`: files that are gone; `reset`: files that are as committed again; `others`: files that
    somebody changed since, which are not touched."""

    run: str
    folder: str  # where they belong
    commit: str  # the snapshot that has them
    title: str
    missing: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    lost_commit: str = ""  # was checked out then, and is on the present branch no more
    is_gone: bool = False  # the whole folder

    @property
    def paths(self) -> tuple[str, ...]:
        return (*self.missing, *self.reset)


def plan_recovery(places: Paths, name: str, variables: Mapping[str, str]) -> RecoveryPlan:
    """Nothing is changed by it."""
    record = find_run(places, name)
    is_gone = not os.path.isdir(record.folder)
    root = places if is_gone else find_paths(record.folder)
    with open_snapshot_reader(root, variables) as reader:
        kept = reader.list(record.id)
        if not kept:
            raise NoSuchRun(
                f"run {record.id} has no snapshots", "they are kept for 30 days; another run may have snapshots"
            )
        last = kept[-1]
        plan = RecoveryPlan(
            run=record.id,
            folder=record.folder if is_gone else root.root,
            commit=last.commit,
            title=last.title,
            is_gone=is_gone,
        )
        return plan if is_gone else _compare(plan, root, reader, variables)


def recover_files(plan: RecoveryPlan, places: Paths, variables: Mapping[str, str]) -> str:
    """What is there now is kept first; its snapshot, empty where nothing was."""
    if plan.is_gone:
        with open_snapshot_reader(places, variables) as reader:
            git = build_git(places.main_root, variables, reader.processes)
            opened = reopen_work_tree(git, plan.folder, reader.read_head(plan.commit)) if git else ""
            os.makedirs(plan.folder, exist_ok=True)
            reader.restore(plan.commit, opened or plan.folder)
        return ""
    root = find_paths(plan.folder)
    name = f"{make_run_id()}{RECOVER_SUFFIX}"
    with lock_and_open(root, root.lock, name, variables), open_snapshot_reader(root, variables) as reader:
        keep = build_snapshots(True, name, tree=root, variables=variables, processes=reader.processes)
        problem = keep.save_initial_tree() if keep else "git is not on PATH"
        if problem:
            raise MachineError(f"cannot take a snapshot of the current files first: {problem}", "nothing was recovered")
        reader.restore_paths(plan.commit, root.root, plan.paths)
        return next((kept.commit for kept in reader.list(name)), "")


def _compare(plan: RecoveryPlan, root: Paths, reader: SnapshotReader, variables: Mapping[str, str]) -> RecoveryPlan:
    now = build_snapshots(False, f"{plan.run}-plan", tree=root, variables=variables, processes=reader.processes)
    if now is None:
        raise MachineError("git is not on PATH", "install it: snapshots are kept by git")
    changed = [change for change in reader.compare(plan.commit, now.look()) if change.old_blob]
    committed = _list_committed(reader, root, variables)
    was_reset = [change for change in changed if change.new_blob and committed.get(change.path) == change.new_blob]
    reset = {change.path for change in was_reset}
    return RecoveryPlan(
        run=plan.run,
        folder=plan.folder,
        commit=plan.commit,
        title=plan.title,
        missing=tuple(change.path for change in changed if not change.new_blob),
        reset=tuple(sorted(reset)),
        others=tuple(change.path for change in changed if change.new_blob and change.path not in reset),
        lost_commit=_find_lost_commit(reader, plan.commit, root, variables),
    )


def _list_committed(reader: SnapshotReader, root: Paths, variables: Mapping[str, str]) -> dict[str, str]:
    """The content of each committed file, by its hash: who has that in the work tree has lost nothing of their own."""
    git = build_git(root.root, variables, reader.processes)
    said = git.run("ls-tree", "-r", "-z", "HEAD") if git else None
    entries = (entry.partition("\t") for entry in said.output.split("\0")) if said and said.ok else ()
    return {path: head.split(" ")[2] for head, _, path in entries if path}


def _find_lost_commit(reader: SnapshotReader, commit: str, root: Paths, variables: Mapping[str, str]) -> str:
    head = reader.read_head(commit)
    git = build_git(root.root, variables, reader.processes)
    is_lost = head and git is not None and git.find_commit(head) and not git.contains("HEAD", head)
    return head if is_lost else ""
