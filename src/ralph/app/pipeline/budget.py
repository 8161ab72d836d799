"""The budget that all tasks of one `ralph execute` share."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ralph.core.standstill import WRITING_ROLES
from ralph.model.ports import Inbox

BUDGET_POLL_SECONDS = 0.2
EPSILON_USD = 1e-6  # what sums of money leave behind


class SharedBudget:
    """One budget for all tasks, safe between threads. What an agent may spend is reserved while it runs, so several at
    once cannot overspend. `kept_usd`: which part of it is not for those who write, so that what they wrote can be
    reviewed and landed."""

    def __init__(self, budget_usd: float | None, kept_usd: float = 0.0) -> None:
        self.budget_usd, self._kept_usd = budget_usd, kept_usd
        self._spent_usd = 0.0
        self._reserved: list[float] = []  # by agents that run now
        self._members = 0
        self._lock = threading.Lock()

    @contextmanager
    def join(self) -> Iterator[None]:
        """Count one more task among those the rest is divided between, for the length of the block."""
        with self._lock:
            self._members += 1
        try:
            yield
        finally:
            with self._lock:
                self._members -= 1

    @contextmanager
    def reserve(self, inbox: Inbox, role: str = "") -> Iterator[float | None]:
        """Reserve a fair share for one agent run, waiting while others hold all there is; 0 when all is spent, None
        without a budget. Call `add_cost` inside the block."""
        kept = self._kept_usd if role in WRITING_ROLES else 0.0
        while (usd := self._try_reserve(kept)) == 0 and self._reserved and not inbox.poll_interruption():
            inbox.wait(BUDGET_POLL_SECONDS)  # what others do not spend comes back
        try:
            yield usd
        finally:
            if usd:
                with self._lock:
                    self._reserved.remove(usd)

    def add_cost(self, cost_usd: float | None) -> None:
        """None: nobody said what it cost."""
        with self._lock:
            self._spent_usd += cost_usd or 0.0

    def remaining_usd(self) -> float | None:
        with self._lock:
            left = None if self.budget_usd is None else self.budget_usd - self._spent_usd
            return left if left is None or left >= EPSILON_USD else 0.0

    def _try_reserve(self, kept_usd: float) -> float | None:
        with self._lock:
            if self.budget_usd is None:
                return None
            free = self.budget_usd - kept_usd - self._spent_usd - sum(self._reserved)
            if free < EPSILON_USD:
                return 0.0
            usd = free / max(1, self._members - len(self._reserved))
            self._reserved.append(usd)
            return usd
