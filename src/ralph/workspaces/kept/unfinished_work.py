"""What an unfinished run left is no start for the next one: its files count as they were before that run."""

import os
from collections.abc import Sequence

from ralph.model.errors import DiskError, MachineError
from ralph.model.proofs import GONE_BLOB, TreeChange
from ralph.workspaces.acceptance import AcceptedProofs, locate_accepted
from ralph.workspaces.own_git import OwnGit
from ralph.workspaces.own_objects import read_kept_tree
from ralph.workspaces.tree_index import TreeIndex
from ralph.workspaces.tree_objects import compare_trees

LEFT_FILE = "left"  # the tree an agent left, where none is kept


def find_start_tree(own: OwnGit, index: TreeIndex, tree: str, unfinished: Sequence[str]) -> str:
    """The tree as it is now, but for what the last of these runs left and nobody changed or accepted since: that is as
    it was when that run started. What a person changed in between is a start like any other."""
    for run in unfinished:
        before = read_kept_tree(own.folder, f"refs/baseline/{run}")
        left = read_kept_tree(own.folder, f"refs/ralph/{run}") or own.read_ref(os.path.join("runs", run, LEFT_FILE))
        if before and left:
            return _put_back(own, index, tree, _list_own_changes(own, run, before=before, left=left, now=tree))
    return tree


def note_left_tree(own: OwnGit, run: str, tree: str) -> None:
    """For a run that keeps no trees."""
    own.write_ref(os.path.join("runs", run, LEFT_FILE), tree)


def _list_own_changes(own: OwnGit, run: str, *, before: str, left: str, now: str) -> list[TreeChange]:
    try:
        since = {change.path for change in compare_trees(own, left, now)}
        changes = compare_trees(own, before, left)
    except DiskError:
        raise
    except MachineError:
        return []  # its trees are gone: a month ago, or by `ralph clean`
    accepted = AcceptedProofs(locate_accepted(own, run)).read()
    return [
        change
        for change in changes
        if change.path not in since and accepted.get(change.path) != (change.new_blob or GONE_BLOB)
    ]


def _put_back(own: OwnGit, index: TreeIndex, tree: str, changes: Sequence[TreeChange]) -> str:
    if not changes:
        return tree
    gone = [change for change in changes if not change.old_blob]  # first: a file may stand where a folder was
    lines = [f"0 {'0' * len(tree)}\t{change.path}" for change in gone]
    lines += [f"{change.old_mode} {change.old_blob}\t{change.path}" for change in changes if change.old_blob]
    return index.write_changed_tree(tree, b"\0".join(os.fsencode(line) for line in lines) + b"\0")
