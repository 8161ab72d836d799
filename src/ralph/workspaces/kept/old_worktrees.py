"""Work trees nobody works in any more: one whose work is committed can go, and its branch once that is merged."""

import os
from collections.abc import Collection

from msgspec import Struct

from ralph.workspaces.git import Git
from ralph.workspaces.project_dir import find_git_dir
from ralph.workspaces.worktree import BRANCH_PREFIX, WORKTREES_FOLDER, locate_worktree


class OldWorktree(Struct, frozen=True, kw_only=True):
    """One below .ralph/worktrees/."""

    name: str
    folder: str
    branch: str = ""  # that can go with it; empty: it has commits that are nowhere else, or there is none
    problem: str = ""  # why it stays, in words


def list_old_worktrees(git: Git, root: str, needed: Collection[str], oldest: float) -> list[OldWorktree]:
    """Those that no name in `needed` stands for, and that nobody has touched since then. Nothing is removed."""
    try:
        names = sorted(os.listdir(os.path.join(root, WORKTREES_FOLDER)))
    except OSError:
        return []
    folders = {name: locate_worktree(root, name) for name in names if name not in needed}
    return [_look(git, name, folder) for name, folder in folders.items() if _find_last_change(folder) < oldest]


def remove_worktree(git: Git, tree: OldWorktree) -> None:
    git.drop_worktree(tree.folder)
    git.run_locked("worktree", "prune")
    if tree.branch:
        git.run_locked("branch", "--delete", "--force", "--quiet", tree.branch)


def _look(git: Git, name: str, folder: str) -> OldWorktree:
    branch = f"{BRANCH_PREFIX}/{name}"
    if os.path.exists(os.path.join(folder, ".git")):
        there = git.in_folder(folder)
        if there.has_changes():
            return OldWorktree(name=name, folder=folder, problem="it has changes that are not committed")
        if not _list_branches_with(git, there.find_commit("HEAD")):
            return OldWorktree(name=name, folder=folder, problem="it has commits that are on no branch")
    others = _list_branches_with(git, git.find_commit(f"refs/heads/{branch}")) - {f"refs/heads/{branch}"}
    return OldWorktree(name=name, folder=folder, branch=branch if others else "")


def _list_branches_with(git: Git, commit: str) -> set[str]:
    if not commit:
        return set()
    said = git.run("for-each-ref", "--format=%(refname)", f"--contains={commit}", "refs/heads/", "refs/remotes/")
    return set(said.text.splitlines())


def _find_last_change(folder: str) -> float:
    places = (folder, git_dir := find_git_dir(folder), os.path.join(git_dir, "index") if git_dir else "")
    return max((os.stat(place).st_mtime for place in places if place and os.path.exists(place)), default=0.0)
