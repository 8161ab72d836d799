"""Work trees that are a run's or a task's own: their branch may be reset, and a deleted one is made again."""

import os

from ralph.workspaces.git import Git
from ralph.workspaces.worktree import BRANCH_PREFIX, WORKTREES_FOLDER

_DETACHED = ("--detach",)


def find_own_branch(git: Git, root: str) -> str:
    """The branch of a work tree that ralph made for one run or task, where it is checked out there; else empty."""
    folder, name = os.path.split(root)
    if not folder.endswith(f"{os.sep}{WORKTREES_FOLDER}"):
        return ""
    branch = f"{BRANCH_PREFIX}/{name}"
    return branch if git.read_branch() == branch else ""


def reset_branch(git: Git, branch: str, commit: str) -> None:
    """To that commit; the index follows, the files stay."""
    git.check("update-ref", "-m", "ralph undo", f"refs/heads/{branch}", commit)
    git.check("reset", "--quiet")


def reopen_work_tree(git: Git, folder: str, head: str) -> str:
    """Check out again the deleted work tree that the folder was or was in: its root, empty where git knows of none.
    `head`: the commit to begin with where its branch is gone, too."""
    root, words = _find_known_tree(git, folder) or _find_own_tree(git, folder, head)
    if root and not os.path.exists(os.path.join(root, ".git")):
        git.add_worktree(root, "--force", *words)
    return root


def _find_known_tree(git: Git, folder: str) -> tuple[str, tuple[str, ...]] | None:
    """As git still has it on its list."""
    for entry in git.run("worktree", "list", "--porcelain").output.split("\n\n")[1:]:  # the first is the main one
        fields = dict(line.partition(" ")[::2] for line in entry.splitlines())
        root = fields.get("worktree", "")
        if root and f"{folder}{os.sep}".startswith(f"{root}{os.sep}"):
            branch = fields.get("branch", "").removeprefix("refs/heads/")
            return root, (root, branch) if branch else (*_DETACHED, root, fields.get("HEAD", "HEAD"))
    return None


def _find_own_tree(git: Git, folder: str, head: str) -> tuple[str, tuple[str, ...]]:
    base, found, below = folder.partition(f"{os.sep}{WORKTREES_FOLDER}{os.sep}")
    name = below.partition(os.sep)[0]
    if not found or not name:
        return "", ()
    root, branch = f"{base}{found}{name}", f"{BRANCH_PREFIX}/{name}"
    if git.find_commit(f"refs/heads/{branch}"):
        return root, (root, branch)
    return (root, ("-b", branch, root, head)) if head and git.find_commit(head) else ("", ())
