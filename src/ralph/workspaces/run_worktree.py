"""A work tree and a branch of its own for one `ralph run`, beside the user's checkout."""

import os
import re

from msgspec import Struct

from ralph.model.errors import MachineError, UsageError
from ralph.workspaces.git import Git
from ralph.workspaces.worktree import (
    BRANCH_PREFIX,
    WORKTREES_FOLDER,
    Worktree,
    Worktrees,
    exclude_from_status,
    is_half_made,
    locate_worktree,
)

_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Else they would stand in the way of `git worktree remove`, and an agent's `git add -A` would take them.
_OUR_OUTPUT = (".ralph/*.log", ".ralph/prompt_*.txt")


class WorktreeResult(Struct, frozen=True, kw_only=True):
    """What a run left in its work tree."""

    commits: int  # since it began
    uncommitted: tuple[str, ...] = ()
    problem: str = ""  # why they could not be committed


class RunWorktrees:
    """Those of one repository. `git` is seen from the user's checkout; `root` has the folder they are in, `common` is
    the git folder that all of them share."""

    def __init__(self, git: Git, *, root: str, common: str) -> None:
        self._git, self._root, self._common = git, root, common

    def plan(self, name: str, below: str) -> Worktree:
        """A new one, from what is checked out; nothing is made yet. `below`: the folder in it that is worked in."""
        start = self._git.find_commit("HEAD")
        if not start:
            raise MachineError("there is no commit to start a work tree from", "commit something first")
        branch, folder = f"{BRANCH_PREFIX}/{name}", locate_worktree(self._root, name)
        if not _NAME_PATTERN.fullmatch(name) or not self._git.run("check-ref-format", f"refs/heads/{branch}").ok:
            raise UsageError(f"{name!r} cannot be the name of a work tree", "use letters, digits, '.', '_' and '-'")
        if self._git.find_commit(f"refs/heads/{branch}") or os.path.lexists(folder):
            hint = f"take another name; a run that did not complete goes on with `ralph run --resume --worktree {name}`"
            raise UsageError(f"there is a work tree or a branch {branch} already", hint)
        if below != "." and not self._git.run("cat-file", "-e", f"{start}:{below}").ok:
            raise UsageError(f"{below}/ is not in the last commit, so the work tree would lack it", "commit it first")
        return Worktree(folder=folder, branch=branch, target=self._git.read_branch(), base=start)

    def create(self, tree: Worktree) -> None:
        exclude_from_status(self._common, f"/{WORKTREES_FOLDER}/", *_OUR_OUTPUT)
        self._git.add_worktree(tree.folder, "-b", tree.branch, tree.folder, tree.base)

    def reopen(self, tree: Worktree) -> None:
        """Make it again where it is gone, from its branch."""
        if is_half_made(tree.folder):
            self._git.drop_worktree(tree.folder)
        if os.path.exists(os.path.join(tree.folder, ".git")):
            return
        if not self._git.find_commit(tree.ref):
            raise MachineError(f"the work tree and its branch {tree.branch} are gone", "start a new run")
        self._git.run_locked("worktree", "prune")
        self._git.add_worktree(tree.folder, tree.folder, tree.branch)

    def list_uncommitted(self) -> list[str]:
        """What the user has not committed, and a work tree therefore lacks."""
        new = self._git.run("ls-files", "--others", "--exclude-standard", "--directory", "-z", "--", ":/")
        return [*self._git.list_changed_files(), *filter(None, new.output.split("\0"))]

    def commit_leftovers(self, tree: Worktree, message: str) -> WorktreeResult:
        """On its branch, so that a merge takes all of it."""
        problem = Worktrees(self._git.with_identity(), self._root, self._common).commit_leftovers(tree, message)
        found = self.look(tree)
        return WorktreeResult(commits=found.commits, uncommitted=found.uncommitted, problem=problem)

    def look(self, tree: Worktree) -> WorktreeResult:
        there = self._git.in_folder(tree.folder)
        status = there.run("--no-optional-locks", "status", "--porcelain", "-z", "--no-renames").output
        count = self._git.run("rev-list", "--count", f"{tree.base}..{tree.ref}").text
        names = tuple(entry[3:] for entry in status.split("\0") if entry)
        return WorktreeResult(commits=int(count) if count.isdecimal() else 0, uncommitted=names)
