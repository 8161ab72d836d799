"""Commits that an agent made stay in the project's repository, whatever it drops and however git cleans up."""

import os
import time

from ralph.workspaces.git import Git
from ralph.workspaces.own_git import OwnGit

PINNED_REFS = "refs/ralph/pinned"
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")


class Pins:
    """A ref in the project for every commit that was checked out when we looked. A file of ours tells which there are,
    and when each was last seen: so a commit that is known costs no process."""

    def __init__(self, own: OwnGit, git: Git) -> None:
        self._own, self._git = own, git

    def pin(self, commit: str) -> str:
        """What is wrong, in words."""
        mark = self._own.path("pinned", commit)
        if os.path.exists(mark):
            os.utime(mark)
            return ""
        said = self._git.run(*_NO_HOOKS, "update-ref", f"{PINNED_REFS}/{commit}", commit)
        if said.ok:
            os.makedirs(os.path.dirname(mark), exist_ok=True)
            with open(mark, "wb"):
                pass
        return "" if said.ok or said.code < 0 else said.problem

    def unpin_older_than(self, seconds: float) -> None:
        oldest = time.time() - seconds
        for commit in self._own.list_refs("pinned"):
            mark = self._own.path("pinned", commit)
            if os.stat(mark).st_mtime < oldest and self._delete_ref(commit):
                os.unlink(mark)

    def _delete_ref(self, commit: str) -> bool:
        """Also true where the user has deleted it."""
        return self._git.run(*_NO_HOOKS, "update-ref", "-d", f"{PINNED_REFS}/{commit}").code >= 0
