"""Merging what is proven: tried apart from everyone, checked, and only then moved onto the target."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from ralph.workspaces.git import Git
from ralph.workspaces.worktree import Worktree

MAX_LANDING_TRIES = 3  # while others move the target
TreeCheck = Callable[[str], str]  # a folder with the merged tree → what is wrong with it


class LandingResult(Struct, frozen=True, kw_only=True):
    """How a landing went."""

    done: bool
    commit: str = ""
    conflict: str = ""  # the files git could not merge, in words
    check_failure: str = ""  # what failed on the merged tree
    problem: str = ""  # why the target could not be moved


def land_branch(git: Git, tree: Worktree, *, folder: str, message: str, verify: TreeCheck) -> LandingResult:
    """Merge the branch into its target. `verify` looks at the merged tree and says what is wrong with it. In `folder`,
    which is removed before and after, the merge is tried."""
    for _ in range(MAX_LANDING_TRIES):
        target = git.find_commit(tree.target_ref)
        if not target:
            return LandingResult(done=False, problem=f"there is no branch {tree.target!r}")
        merged = _try_merge(git, tree, target=target, folder=folder, message=message, verify=verify)
        if not merged.done:
            return merged
        problem = _move_target(git, tree.target, target, merged.commit)
        if not problem:
            return merged
        if git.find_commit(tree.target_ref) == target:  # nobody was faster: it is something else
            break
    return LandingResult(done=False, problem=f"{tree.target} could not be moved: {problem}")


def _try_merge(git: Git, tree: Worktree, *, target: str, folder: str, message: str, verify: TreeCheck) -> LandingResult:
    git.drop_worktree(folder)
    git.add_worktree(folder, "--detach", folder, target)
    try:
        there = git.in_folder(folder)
        words = ("merge", "--ff", "--no-edit", "--quiet", "-m", message, tree.ref)
        said = there.run("-c", "commit.gpgsign=false", *words)
        if not said.ok:
            return _explain_failed_merge(there, said.problem)
        red = _find_nested_repository(there, target) or verify(folder)
        return (
            LandingResult(done=False, check_failure=red)
            if red
            else LandingResult(done=True, commit=there.check("rev-parse", "HEAD"))
        )
    finally:
        git.drop_worktree(folder)


def _explain_failed_merge(there: Git, problem: str) -> LandingResult:
    files = there.run("diff", "--name-only", "--diff-filter=U").text
    if files:
        return LandingResult(done=False, conflict=files.replace("\n", ", "))
    if there.find_commit("MERGE_HEAD"):  # git could; a hook of the user's did not want it
        return LandingResult(done=False, check_failure=problem)
    return LandingResult(done=False, problem=problem)


def _find_nested_repository(there: Git, target: str) -> str:
    """A repository inside the repository would land as a name without files, unless it is a submodule."""
    new = there.run("diff", "--raw", "--no-renames", "-z", target, "HEAD").output.split("\0")
    folders = [path for head, path in zip(new[::2], new[1::2], strict=False) if head.split(" ")[1:2] == ["160000"]]
    known = there.run("config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$").output.splitlines()
    submodules = {line.partition(" ")[2] for line in known}
    lost = [folder for folder in folders if folder not in submodules]
    return f"{lost[0]} is a git repository of its own: its files would not land. Remove {lost[0]}/.git" if lost else ""


def _move_target(git: Git, target: str, old: str, new: str) -> str:
    """Move the branch, in the tree that has it checked out if there is one; why not, otherwise."""
    holder = _find_checkout(git, target)
    if holder:
        said = git.in_folder(holder).run("merge", "--ff-only", "--no-autostash", "--quiet", new)
    elif _is_being_rebased(git, target):
        return "somebody is rebasing it"
    else:
        said = git.run("update-ref", f"refs/heads/{target}", new, old)
    return "" if said.ok else said.problem


def _find_checkout(git: Git, branch: str) -> str:
    """The work tree that has the branch checked out."""
    folder = ""
    for line in git.run("worktree", "list", "--porcelain").output.splitlines():
        word, _, rest = line.partition(" ")
        if word == "worktree":
            folder = rest
        elif word == "branch" and rest == f"refs/heads/{branch}" and Path(folder).is_dir():
            return folder
    return ""


def _is_being_rebased(git: Git, branch: str) -> bool:
    """Whether someone rebases it: no tree has it checked out meanwhile, and yet it is in use."""
    common = Path(git.run("rev-parse", "--path-format=absolute", "--git-common-dir").text)
    marks = [mark for folder in (".", "worktrees/*") for mark in common.glob(f"{folder}/rebase-*/head-name")]
    return any(mark.read_text().strip() == f"refs/heads/{branch}" for mark in marks)
