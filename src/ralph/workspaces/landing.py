"""Merging what is proven: tried apart from everyone, checked, and only then moved onto the target."""

from collections.abc import Callable
from pathlib import Path

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
        target = git.commit_of(tree.target_ref)
        if not target:
            return Landing(False, problem=f"there is no branch {tree.target!r}")
        merged = _merged(git, tree, target, folder, message, verify)
        if not merged.done:
            return merged
        problem = _moved(git, tree.target, target, merged.commit)
        if not problem:
            return merged
        if git.commit_of(tree.target_ref) == target:  # nobody was faster: it is something else
            break
    return Landing(False, problem=f"{tree.target} could not be moved: {problem}")


def _merged(git: Git, tree: Worktree, target: str, folder: str, message: str, verify: Check) -> Landing:
    git.drop_worktree(folder)
    git.add_worktree(folder, "--detach", folder, target)
    try:
        there = git.at(folder)
        words = ("merge", "--ff", "--no-edit", "--quiet", "-m", message, tree.ref)
        said = there.try_("-c", "commit.gpgsign=false", *words)
        if not said.ok:
            return _unmerged(there, said.problem)
        red = _hollow(there, target) or verify(folder)
        return Landing(False, red=red) if red else Landing(True, there.do("rev-parse", "HEAD"))
    finally:
        git.drop_worktree(folder)


def _unmerged(there: Git, problem: str) -> Landing:
    files = there.try_("diff", "--name-only", "--diff-filter=U").text
    if files:
        return Landing(False, conflict=files.replace("\n", ", "))
    if there.commit_of("MERGE_HEAD"):  # git could; a hook of the user's did not want it
        return Landing(False, red=problem)
    return Landing(False, problem=problem)


def _hollow(there: Git, target: str) -> str:
    """A repository inside the repository would land as a name without files, unless it is a submodule."""
    new = there.try_("diff", "--raw", "--no-renames", "-z", target, "HEAD").output.split("\0")
    folders = [path for head, path in zip(new[::2], new[1::2], strict=False) if head.split(" ")[1:2] == ["160000"]]
    known = there.try_("config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$").output.splitlines()
    submodules = {line.partition(" ")[2] for line in known}
    lost = [folder for folder in folders if folder not in submodules]
    return f"{lost[0]} is a git repository of its own: its files would not land. Remove {lost[0]}/.git" if lost else ""


def _moved(git: Git, target: str, old: str, new: str) -> str:
    """Move the branch, in the tree that has it checked out if there is one; why not, otherwise."""
    holder = _holder(git, target)
    if holder:
        said = git.at(holder).try_("merge", "--ff-only", "--no-autostash", "--quiet", new)
    elif _is_rebased(git, target):
        return "somebody is rebasing it"
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
        elif word == "branch" and rest == f"refs/heads/{branch}" and Path(folder).is_dir():
            return folder
    return ""


def _is_rebased(git: Git, branch: str) -> bool:
    """Whether someone rebases it: no tree has it checked out meanwhile, and yet it is in use."""
    common = Path(git.try_("rev-parse", "--path-format=absolute", "--git-common-dir").text)
    marks = [mark for folder in (".", "worktrees/*") for mark in common.glob(f"{folder}/rebase-*/head-name")]
    return any(mark.read_text().strip() == f"refs/heads/{branch}" for mark in marks)
