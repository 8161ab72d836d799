"""A work tree and a branch for each task; nothing in it is ever lost."""

import os

from msgspec import Struct

from ralph.workspaces.git import Git

FOLDER = ".ralph/worktrees"


class Worktree(Struct, frozen=True):
    """Where one task is worked on."""

    folder: str
    branch: str
    target: str  # the branch it will land on
    base: str  # the commit it began at


class Worktrees:
    """All work trees of one repository."""

    def __init__(self, git: Git, root: str, common: str) -> None:
        self._git, self._root, self._common = git, root, common

    def open(self, task: str, target: str) -> Worktree:
        """The task's own, made if it is not there; its earlier work is found again on its branch."""
        self._hide()
        branch = f"ralph/{task}"
        folder = os.path.join(self._root, FOLDER, task)
        if not os.path.isdir(folder):
            self._git.try_("worktree", "prune")
            known = self._git.commit_of(f"refs/heads/{branch}")
            words = (folder, branch) if known else ("-b", branch, folder, target)
            self._git.do("worktree", "add", "--quiet", *words)
        base = self._git.try_("merge-base", target, branch).text or self._git.commit_of(target)
        return Worktree(folder, branch, target, base)

    def keep(self, tree: Worktree, message: str) -> bool:
        """Commit what an agent left lying about; whether there was any."""
        git = self._git.at(tree.folder)
        if not git.try_("status", "--porcelain").text:
            return False
        git.do("add", "--all")
        return git.try_("commit", "--quiet", "--no-verify", "-m", message).ok

    def close(self, tree: Worktree) -> bool:
        """Remove it and its branch, only when all it holds is reachable from the target."""
        git = self._git.at(tree.folder)
        if git.try_("status", "--porcelain").text or not self._git.contains(tree.target, tree.branch):
            return False
        removed = self._git.try_("worktree", "remove", tree.folder).ok
        return removed and self._git.try_("branch", "--delete", "--force", tree.branch).ok

    def _hide(self) -> None:
        """Git need not see our folder in the user's status, and .gitignore is the user's."""
        path = os.path.join(self._common, "info", "exclude")
        try:
            with open(path, encoding="utf-8") as file:
                if f"/{FOLDER}/" in file.read().splitlines():
                    return
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"/{FOLDER}/\n")
