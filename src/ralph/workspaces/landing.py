"""Merging what is proven: tried apart from everyone, checked, and only then moved onto the target."""

import os
from collections.abc import Callable

from msgspec import Struct

from ralph.workspaces.git import Git
from ralph.workspaces.worktree import Worktree

FOLDER = "landing"


class Landing(Struct, frozen=True):
    """How a landing went."""

    done: bool
    commit: str = ""
    conflict: str = ""  # the files git could not merge, in words
    red: str = ""  # what failed on the merged tree
    problem: str = ""  # why the target could not be moved


def land(git: Git, tree: Worktree, scratch: str, message: str, verify: Callable[[str], str]) -> Landing:
    """Merge the branch into its target. `verify` looks at the merged tree and says what is wrong with it."""
    target = git.commit_of(tree.target)
    if git.contains(tree.target, tree.branch):
        return Landing(True, target)
    folder = os.path.join(scratch, FOLDER)
    git.try_("worktree", "remove", "--force", folder)
    git.do("worktree", "add", "--quiet", "--detach", folder, target)
    try:
        there = git.at(folder)
        merged = there.try_("merge", "--no-edit", "--quiet", "-m", message, tree.branch)
        if not merged.ok:
            files = there.try_("diff", "--name-only", "--diff-filter=U").text.replace("\n", ", ")
            return Landing(False, conflict=files or merged.text)
        if red := verify(folder):
            return Landing(False, red=red)
        commit = there.do("rev-parse", "HEAD")
    finally:
        git.try_("worktree", "remove", "--force", folder)
    problem = _moved(git, tree.target, target, commit)
    return Landing(not problem, commit, problem=problem)


def _moved(git: Git, target: str, old: str, new: str) -> str:
    """Move the branch, in the tree that has it checked out if there is one; why not, otherwise."""
    holder = _holder(git, target)
    if holder:
        said = git.at(holder).try_("merge", "--ff-only", "--quiet", new)
    else:
        said = git.try_("update-ref", f"refs/heads/{target}", new, old)
    return "" if said.ok else f"{target} could not be moved: {said.text.splitlines()[-1] if said.text else said.code}"


def _holder(git: Git, branch: str) -> str:
    """The work tree that has the branch checked out."""
    folder = ""
    for line in git.try_("worktree", "list", "--porcelain").output.splitlines():
        word, _, rest = line.partition(" ")
        if word == "worktree":
            folder = rest
        elif word == "branch" and rest == f"refs/heads/{branch}":
            return folder
    return ""
