"""The workspace of one task: a work tree and a branch of its own, which land when it is its turn."""

import threading
from collections.abc import Callable

from ralph.model.loop import Landed
from ralph.model.ports import Inbox
from ralph.model.spec import Task
from ralph.workspaces.landing import land_branch
from ralph.workspaces.worktree import Worktree, Worktrees

LANDING_POLL_SECONDS = 0.2
# One a root: leftovers are found. Not below .git: there are tools that find nothing to test in there.
LANDING_FOLDER = ".landing"


class TaskWorkspace:
    """Implements the port `Workspace`. `index`: a file to hash trees with. `landing_lock`: one for all tasks, for what
    is merged must have been verified merged."""

    def __init__(
        self,
        task: Task,
        trees: Worktrees,
        tree: Worktree,
        *,
        index: str,
        landing_lock: threading.Lock,
        inbox: Inbox,
    ) -> None:
        self._task, self._trees, self._worktree = task, trees, tree
        self._git, self._index = trees.git.in_folder(tree.folder), index
        self._landing_lock, self._inbox = landing_lock, inbox

    @property
    def folder(self) -> str:
        return self._worktree.folder

    @property
    def branch(self) -> str:
        return self._worktree.branch

    def diff(self) -> str:
        return self._git.diff(self._worktree.base, self._index)

    def is_changed(self, tree: str) -> bool:
        names = (self._worktree.base, self._worktree.target_ref)
        unchanged = self._git.run("rev-parse", *(f"{name}^{{tree}}" for name in names)).output
        return not tree or tree not in unchanged.split()

    def tree(self) -> str:
        return self._git.hash_tree(self._index)

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
        return self._trees.remove_if_landed(self._worktree)

    def _wait_for_turn(self) -> bool:
        """False: this task is to stop first."""
        while not self._landing_lock.acquire(timeout=LANDING_POLL_SECONDS):
            if self._inbox.poll_stop_grace() is not None:
                return False
        return True

    def _merge(self, verify: Callable[[str], str], trailer: str) -> Landed:
        found = land_branch(
            self._trees.git,
            self._worktree,
            folder=self._trees.get_folder(LANDING_FOLDER),
            message=_sign(f"Merge {self._worktree.branch}: {self._task.title}", trailer),
            verify=verify,
        )
        return Landed(
            done=found.done,
            commit=found.commit,
            conflict=found.conflict,
            red=found.check_failure,
            problem=found.problem,
        )


def _sign(message: str, trailer: str) -> str:
    return f"{message}\n\n{trailer}" if trailer else message
