"""Merging what is proven: tried apart from everyone, checked, and only then moved onto the target."""

import os
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.workspaces.git import Git
from ralph.workspaces.project_dir import find_git_dir, find_project_dir
from ralph.workspaces.tree_objects import SUBMODULE_MODE
from ralph.workspaces.worktree import Worktree

MAX_LANDING_TRIES = 3  # while others move the target
TreeCheck = Callable[[str], str]  # a folder with the merged tree → what is wrong with it
# The same, with the files that land there and those that others changed on the target since the work began.
FilesCheck = Callable[[str, frozenset[str], frozenset[str]], str]


class LandingResult(Struct, frozen=True, kw_only=True):
    """How a landing went."""

    done: bool
    commit: str = ""
    conflict: str = ""  # the files git could not merge, in words
    check_failure: str = ""  # what failed on the merged tree
    problem: str = ""  # why the target could not be moved
    target: str = ""  # of a conflict: the commit of the target
    is_empty: bool = False  # the target had all of it before
    mixed: tuple[str, ...] = ()  # files that both sides changed, where that keeps it from landing


class LandingPlan(Struct, frozen=True, kw_only=True):
    """What lands, where it is tried, and who has a say. In `folder`, which is removed before and after, the merge is
    tried; `verify` looks at the merged tree and says what is wrong with it, `compare` at each file of it first."""

    tree: Worktree
    folder: str
    message: str
    verify: TreeCheck
    compare: FilesCheck = lambda folder, landing, moved: ""
    may_mix: bool = True  # it lands though git had to merge files that others changed too
    announce: Callable[[str], object] = len  # told the commit that the target is about to be moved to


def land_branch(git: Git, plan: LandingPlan) -> LandingResult:
    """Merge the branch into its target."""
    tree = plan.tree
    for _ in range(MAX_LANDING_TRIES):
        commits = git.find_commits(tree.target_ref, tree.ref)
        if tree.target_ref not in commits or tree.ref not in commits:
            return LandingResult(done=False, problem=f"there is no branch {_name_missing(tree, commits)!r}")
        target = commits[tree.target_ref]
        merged = _try_merge(git, plan, target=target, branch=commits[tree.ref])
        if not merged.done or merged.commit == target:
            return replace(merged, target=target) if merged.conflict else merged
        plan.announce(merged.commit)
        problem = _move_target(git, tree.target, target, merged.commit)
        if not problem:
            return merged
        if git.find_commit(tree.target_ref) == target:  # nobody was faster: it is something else
            break
    return LandingResult(done=False, problem=f"{tree.target} could not be moved: {problem}")


def _name_missing(tree: Worktree, commits: Mapping[str, str]) -> str:
    return tree.target if tree.target_ref not in commits else tree.branch


def _try_merge(git: Git, plan: LandingPlan, *, target: str, branch: str) -> LandingResult:
    folder = plan.folder
    git.drop_worktree(folder)
    is_ahead = git.contains(branch, target)
    git.with_hooks().add_worktree(folder, "--detach", folder, branch if is_ahead else target)
    try:
        there = git.in_folder(folder, find_git_dir(folder))
        if not is_ahead:
            said = there.with_hooks().run("merge", "--ff", "--no-edit", "--quiet", "-m", plan.message, branch)
            if not said.ok:
                return _explain_failed_merge(there, said.problem)
        commit = _read_head(folder)
        landing = there.list_commit_changes(target, commit) if commit != target else {}
        base = plan.tree.base
        moved = there.list_commit_changes(base, target) if base and base != target else {}
        mixed = sorted(landing.keys() & moved.keys())
        if mixed and not is_ahead and not plan.may_mix:
            return LandingResult(done=False, mixed=tuple(mixed))
        red = _check_files(there, plan, landing, moved) or plan.verify(folder)
        if red:
            return LandingResult(done=False, check_failure=red)
        had_landed = commit == target and branch not in (target, plan.tree.base)
        return LandingResult(done=True, commit=commit, is_empty=not landing and not had_landed)
    finally:
        git.drop_worktree(folder)


def _read_head(folder: str) -> str:
    project = find_project_dir(folder)
    return project.read_head() if project else ""


def _explain_failed_merge(there: Git, problem: str) -> LandingResult:
    files = there.run("diff", "--name-only", "--diff-filter=U").text
    if files:
        return LandingResult(done=False, conflict=files.replace("\n", ", "))
    if there.find_commit("MERGE_HEAD"):  # git could; a hook of the user's did not want it
        return LandingResult(done=False, check_failure=problem)
    return LandingResult(done=False, problem=problem)


def _check_files(there: Git, plan: LandingPlan, landing: Mapping[str, str], moved: Mapping[str, str]) -> str:
    """Whether every file that lands is one that was checked."""
    if lost := _find_nested_repository(there, landing):
        return f"{lost} is a separate git repository: its files would not be merged. Remove {lost}/.git"
    return plan.compare(plan.folder, frozenset(landing), frozenset(moved))


def _find_nested_repository(there: Git, landing: Mapping[str, str]) -> str:
    """A repository inside the repository would land as a name without files, unless it is a submodule."""
    folders = [path for path, mode in landing.items() if mode == SUBMODULE_MODE]
    if not folders:
        return ""
    known = there.run("config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$").output.splitlines()
    submodules = {line.partition(" ")[2] for line in known}
    return next((folder for folder in folders if folder not in submodules), "")


def _move_target(git: Git, target: str, old: str, new: str) -> str:
    """Move the branch, in the tree that has it checked out if there is one; why not, otherwise."""
    holder = _find_checkout(git, target)
    if holder:
        said = git.in_folder(holder).with_hooks().run("merge", "--ff-only", "--no-autostash", "--quiet", new)
    elif _is_being_rebased(git, target):
        return "somebody is rebasing it"
    else:
        said = git.run("update-ref", f"refs/heads/{target}", new, old)
    return "" if said.ok else said.problem


def _find_checkout(git: Git, branch: str) -> str:
    """The work tree that has the branch checked out; ours is asked first, by its file."""
    project = find_project_dir(git.folder)
    if project is not None and project.read_checked_out_branch() == branch:
        return git.folder
    folder = ""
    for line in git.run("worktree", "list", "--porcelain").output.splitlines():
        word, _, rest = line.partition(" ")
        if word == "worktree":
            folder = rest
        elif word == "branch" and rest == f"refs/heads/{branch}" and os.path.isdir(folder):
            return folder
    return ""


def _is_being_rebased(git: Git, branch: str) -> bool:
    """Whether someone rebases it: no tree has it checked out meanwhile, and yet it is in use."""
    from pathlib import Path

    common = Path(git.run("rev-parse", "--path-format=absolute", "--git-common-dir").text)
    marks = [mark for folder in (".", "worktrees/*") for mark in common.glob(f"{folder}/rebase-*/head-name")]
    return any(mark.read_text().strip() == f"refs/heads/{branch}" for mark in marks)
