"""The workspace of one task: a work tree and a branch of its own, which land when it is its turn."""

import os
import threading
from collections.abc import Callable

from ralph.model.errors import MachineError
from ralph.model.loop import Landed
from ralph.model.ports import Inbox
from ralph.model.spec import Task
from ralph.workspaces.landing import LandingPlan, land_branch
from ralph.workspaces.landing_files import describe_unchecked_files, find_unchecked_files
from ralph.workspaces.snapshots import Snapshots
from ralph.workspaces.worktree import Worktree, Worktrees

LANDING_POLL_SECONDS = 0.2
# One a root: leftovers are found. Not below .git: there are tools that find nothing to test in there.
LANDING_FOLDER = ".landing"


class TaskWorkspace:
    """Implements the port `Workspace`. `keeper` looks at the work tree, for all who want to know. `landing_lock`: one
    for all tasks, for what is merged must have been verified merged."""

    def __init__(
        self,
        task: Task,
        trees: Worktrees,
        tree: Worktree,
        *,
        keeper: Snapshots,
        landing_lock: threading.Lock,
        inbox: Inbox,
    ) -> None:
        self._task, self._trees, self._worktree = task, trees, tree
        self.keeper = keeper
        self._landing_lock, self._inbox = landing_lock, inbox

    @property
    def folder(self) -> str:
        return self._worktree.folder

    @property
    def branch(self) -> str:
        return self._worktree.branch

    def diff(self) -> str:
        return self.keeper.diff(self.keeper.baseline(), self.tree())

    def is_changed(self, tree: str) -> bool:
        if not tree or tree == self.keeper.baseline():
            return not tree
        return self._trees.git.run("rev-parse", f"{self._worktree.target_ref}^{{tree}}").text != tree

    def tree(self) -> str:
        return self.keeper.tree() or self.look()

    def look(self) -> str:
        return self.keeper.look()

    def land(self, verify: Callable[[str], str], trailer: str = "") -> Landed:
        """What an agent left lying about lands with the rest."""
        if problem := self._trees.commit_leftovers(self._worktree, _sign(f"ralph: {self._task.id}", trailer)):
            return Landed(done=False, problem=problem)
        if not self._wait_for_turn():
            return Landed(done=False, problem="interrupted")
        try:
            return self._merge(verify, trailer)
        finally:
            self._landing_lock.release()

    def remove_if_landed(self) -> bool:
        """Remove work tree and branch; False where something in them is not on the target."""
        is_removed = self._trees.remove_if_landed(self._worktree)
        if is_removed:
            self.keeper.forget_index()
        return is_removed

    def _wait_for_turn(self) -> bool:
        """False: this task is to stop first."""
        while not self._landing_lock.acquire(timeout=LANDING_POLL_SECONDS):
            if self._inbox.poll_stop_grace() is not None:
                return False
        return True

    def _merge(self, verify: Callable[[str], str], trailer: str) -> Landed:
        plan = LandingPlan(
            tree=self._worktree,
            folder=self._trees.get_folder(LANDING_FOLDER),
            message=_sign(f"Merge {self._worktree.branch}: {self._task.title}", trailer),
            verify=verify,
            compare=self._compare_files,
        )
        found = land_branch(self._trees.git, plan)
        return Landed(
            done=found.done,
            commit=found.commit,
            conflict=found.conflict,
            red=found.check_failure,
            problem=found.problem,
        )

    def _compare_files(self, folder: str, landing: frozenset[str], moved: frozenset[str]) -> str:
        """What was checked is the tree as last looked at. A file that others changed too is merged, and checked as
        merged; one that is ignored by now does not land."""
        if not (tree := self.tree()):
            raise MachineError(f"cannot look at {self.folder}: {self.keeper.describe_failure()}")
        changed = {each.path for each in self.keeper.list_changes(self.keeper.baseline(), tree)}
        expected = self.keeper.list_files(tree, (landing | changed) - moved)
        unchecked = find_unchecked_files(folder, expected)
        missing = [path for path in unchecked if not os.path.lexists(os.path.join(folder, path))]
        ignored = self._trees.open_git(self._worktree).list_ignored(missing)
        return describe_unchecked_files(path for path in unchecked if path not in ignored)


def _sign(message: str, trailer: str) -> str:
    return f"{message}\n\n{trailer}" if trailer else message
