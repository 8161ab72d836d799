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
        self.git, self._root, self._common = git, root, common

    def folder_of(self, task: str) -> str:
        """Where it is, if there is one."""
        return os.path.join(self._root, FOLDER, task)

    def open(self, task: str, target: str) -> Worktree:
        """The task's own, made if it is not there; its earlier work is found again on its branch."""
        self._hide()
        branch = f"ralph/{task}"
        folder = self.folder_of(task)
        if not os.path.exists(os.path.join(folder, ".git")):  # without it, git would take the repository around it
            self.git.try_("worktree", "prune")
            known = self.git.commit_of(f"refs/heads/{branch}")
            words = (folder, branch) if known else ("-b", branch, folder, target)
            self.git.do("worktree", "add", "--quiet", *words)
        elif self.git.contains(target, branch):  # nothing of its own yet
            self.git.at(folder).try_("merge", "--ff-only", "--quiet", target)
        base = self.git.try_("merge-base", target, branch).text or self.git.commit_of(target)
        return Worktree(folder, branch, target, base)

    def keep(self, tree: Worktree, message: str) -> str:
        """Commit on its branch what an agent left lying about; why that cannot be, otherwise."""
        git = self.git.at(tree.folder)
        if unmerged := git.try_("diff", "--name-only", "--diff-filter=U").text:
            return f"a merge in its work tree is not resolved: {unmerged.replace(chr(10), ', ')}"
        if problem := _brought_home(git, tree):
            return problem
        if not git.changed() and not git.commit_of("MERGE_HEAD"):
            return ""
        git.do("add", "--all")
        # Whoever left it there has been verified; the user's hooks are for commits that are meant.
        said = git.try_("-c", "commit.gpgsign=false", "commit", "--quiet", "--no-verify", "-m", message)
        return "" if said.ok else f"what is in its work tree cannot be committed: {said.problem}"

    def close(self, tree: Worktree) -> bool:
        """Remove it and its branch, only when all it holds is reachable from the target."""
        git = self.git.at(tree.folder)
        held = (tree.branch, git.commit_of("HEAD"))
        if git.changed() or not all(self.git.contains(tree.target, commit) for commit in held):
            return False
        removed = self.git.try_("worktree", "remove", tree.folder).ok
        return removed and self.git.try_("branch", "--delete", "--force", "--quiet", tree.branch).ok

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


def _brought_home(git: Git, tree: Worktree) -> str:
    """An agent may have made a branch of its own: what it did there belongs on the task's."""
    elsewhere = git.branch()
    if elsewhere == tree.branch:
        return ""
    if not git.contains("HEAD", tree.branch):
        return f"its work tree is on {elsewhere or 'no branch'}, which lacks what {tree.branch} has"
    said = git.try_("checkout", "--quiet", "-B", tree.branch)
    return "" if said.ok else f"its work tree is on {elsewhere or 'no branch'}: {said.problem}"
