"""What git still has of a task that is no more: its work is the user's, so it stays until the user removes it."""

import os
import shlex
from collections.abc import Mapping

from msgspec import Struct

from ralph.app.paths import Places
from ralph.app.processes import errand
from ralph.model.board import Entry
from ralph.process.shell import find_program
from ralph.workspaces.git import Git
from ralph.workspaces.worktree import FOLDER


class Remains(Struct, frozen=True, omit_defaults=True):
    """A branch and a work tree, where there are any."""

    branch: str = ""
    worktree: str = ""

    @property
    def removal(self) -> str:
        """How the user removes them."""
        tree = f"git worktree remove --force {shlex.quote(self.worktree)}" if self.worktree else ""
        branch = f"git branch -D {shlex.quote(self.branch)}" if self.branch else ""
        return " && ".join(filter(None, (tree, branch)))


def remains_of(entry: Entry, places: Places, variables: Mapping[str, str]) -> Remains:
    """Asked of git itself; where there is none, nothing is left."""
    folder = os.path.join(places.root, FOLDER, entry.task.id)
    tree = folder if os.path.exists(os.path.join(folder, ".git")) else ""
    program = find_program("git", variables)
    if not entry.branch or program is None or not places.in_git:
        return Remains(worktree=tree)
    with errand() as processes:
        known = Git(program, places.root, variables, processes).commit_of(f"refs/heads/{entry.branch}")
    return Remains(entry.branch if known else "", tree)
