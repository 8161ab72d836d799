"""One task on the board of this repository, and its share of the budget."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from ralph.app.pipeline.budget import SharedBudget
from ralph.core.tasks.stage_prompt import MAX_LISTED_ATTEMPTS
from ralph.model.board import Change, Entry, Released
from ralph.model.ports import Inbox
from ralph.model.spec import Role, VerificationAttempt
from ralph.model.store_ports import TaskStore

MAX_READ_ATTEMPTS = 10


class StoredTaskBoard:
    """Implements the port `TaskBoard`, for one run of one task: what is written is written only while it has it."""

    def __init__(self, tasks: TaskStore, entry: Entry, *, budget: SharedBudget, inbox: Inbox) -> None:
        self._tasks, self._task, self._run = tasks, entry.task.id, entry.worker
        self._budget, self._inbox = budget, inbox
        self._records = 0

    def entry(self) -> Entry:
        return self._tasks.get(self._task)

    def record(self, *changes: Change) -> None:
        self._records += 1
        self.record_once(str(self._records), *changes)

    def record_once(self, key: str, *changes: Change) -> None:
        """A repeat with the same key, in the same run, does nothing."""
        self._tasks.apply(changes, f"{self._run}/{key}", self._run)

    def release_if_held(self, key: str) -> None:
        """Give the task back, unless somebody else has it already."""
        if self.entry().worker == self._run:
            self.record_once(key, Released(self._task))

    def failed_attempts(self, role: Role) -> Sequence[VerificationAttempt]:
        attempts = self._tasks.history.list_attempts(self._task, role, MAX_READ_ATTEMPTS)
        verified = [index for index, attempt in enumerate(attempts) if attempt.verified]
        return attempts[verified[-1] + 1 if verified else 0 :][-MAX_LISTED_ATTEMPTS:]

    def reserve(self, role: str) -> AbstractContextManager[float | None]:
        return self._budget.reserve(self._inbox, role)

    def charge(self, cost_usd: float | None) -> None:
        self._budget.add_cost(cost_usd)
