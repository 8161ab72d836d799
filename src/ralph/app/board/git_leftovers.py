"""What git still has of a task that is no more: its work is the user's, so it stays until the user removes it."""

import os
import shlex
from collections.abc import Mapping

from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.processes import open_short_lived_processes
from ralph.model.board import Entry
from ralph.process.shell import find_program
from ralph.workspaces.git import Git
from ralph.workspaces.worktree import locate_worktree


class GitLeftovers(Struct, frozen=True, omit_defaults=True):
    """A branch and a work tree, where there are any."""

    branch: str = ""
    worktree: str = ""

    @property
    def removal_command(self) -> str:
        tree = f"git worktree remove --force {shlex.quote(self.worktree)}" if self.worktree else ""
        branch = f"git branch -D {shlex.quote(self.branch)}" if self.branch else ""
        return " && ".join(filter(None, (tree, branch)))


def find_git_leftovers(entry: Entry, places: Paths, variables: Mapping[str, str]) -> GitLeftovers:
    """Asked of git itself; where there is none, nothing is left."""
    folder = locate_worktree(places.root, entry.task.id)
    tree = folder if os.path.exists(os.path.join(folder, ".git")) else ""
    program = find_program("git", variables)
    if not entry.branch or program is None or not places.in_git:
        return GitLeftovers(worktree=tree)
    with open_short_lived_processes() as processes:
        known = Git(program, places.root, environment=variables, processes=processes).find_commit(
            f"refs/heads/{entry.branch}"
        )
    return GitLeftovers(entry.branch if known else "", tree)
