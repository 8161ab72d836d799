"""Merging what is proven: tried apart from everyone, checked, and only then moved onto the target."""

from collections.abc import Callable

from msgspec import Struct

from ralph.workspaces.git import Git
from ralph.workspaces.worktree import Worktree

TRIES = 3  # while others move the target
Check = Callable[[str], str]  # a folder with the merged tree → what is wrong with it


class Landing(Struct, frozen=True):
    """How a landing went."""

    done: bool
    commit: str = ""
    conflict: str = ""  # the files git could not merge, in words
    red: str = ""  # what failed on the merged tree
    problem: str = ""  # why the target could not be moved


def land(git: Git, tree: Worktree, folder: str, message: str, verify: Check) -> Landing:
    """Merge the branch into its target. `verify` looks at the merged tree and says what is wrong with it. In `folder`,
    which is removed before and after, the merge is tried."""
    for _ in range(TRIES):
        target = git.commit_of(f"refs/heads/{tree.target}")
        if not target:
            return Landing(False, problem=f"there is no branch {tree.target!r}")
        if git.contains(target, tree.branch):
            return Landing(True, target)
        merged = _merged(git, tree, target, folder, message, verify)
        if not merged.done:
            return merged
        problem = _moved(git, tree.target, target, merged.commit)
        if not problem:
            return merged
        if git.commit_of(f"refs/heads/{tree.target}") == target:  # nobody was faster: it is something else
            break
    return Landing(False, problem=f"{tree.target} could not be moved: {problem}")


def _merged(git: Git, tree: Worktree, target: str, folder: str, message: str, verify: Check) -> Landing:
    git.try_("worktree", "remove", "--force", folder)
    git.do("worktree", "add", "--quiet", "--detach", folder, target)
    try:
        there = git.at(folder)
        said = there.try_("-c", "commit.gpgsign=false", "merge", "--no-edit", "--quiet", "-m", message, tree.branch)
        if not said.ok:
            return _unmerged(there, said.problem)
        red = verify(folder)
        return Landing(False, red=red) if red else Landing(True, there.do("rev-parse", "HEAD"))
    finally:
        git.try_("worktree", "remove", "--force", folder)


def _unmerged(there: Git, problem: str) -> Landing:
    files = there.try_("diff", "--name-only", "--diff-filter=U").text
    if files:
        return Landing(False, conflict=files.replace("\n", ", "))
    if there.commit_of("MERGE_HEAD"):  # git could; a hook of the user's did not want it
        return Landing(False, red=problem)
    return Landing(False, problem=problem)


def _moved(git: Git, target: str, old: str, new: str) -> str:
    """Move the branch, in the tree that has it checked out if there is one; why not, otherwise."""
    holder = _holder(git, target)
    if holder:
        said = git.at(holder).try_("merge", "--ff-only", "--quiet", new)
    else:
        said = git.try_("update-ref", f"refs/heads/{target}", new, old)
    return "" if said.ok else said.problem


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
