"""What can end one task of many: its own cancel, its run's, or the user's signal; and money they share."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph.model.ports import Inbox

TASK_CANCEL_POLL_SECONDS = 0.5
BUDGET_POLL_SECONDS = 0.2
EPSILON_USD = 1e-6  # what sums of money leave behind
TASK_CANCEL_GRACE_SECONDS = 1.0
TASK_CANCELLED = "cancelled"


class SharedBudget:
    """Money for all tasks together; safe between threads. What one agent may spend is set aside while it runs: several
    at once spend no more than there is."""

    def __init__(self, budget_usd: float | None) -> None:
        self.budget_usd = budget_usd
        self._spent_usd = 0.0
        self._reserved: list[float] = []  # to agents that run now
        self._members = 0
        self._lock = threading.Lock()

    @contextmanager
    def join(self) -> Iterator[None]:
        """One task more to be paid for."""
        with self._lock:
            self._members += 1
        try:
            yield
        finally:
            with self._lock:
                self._members -= 1

    @contextmanager
    def reserve(self, inbox: Inbox) -> Iterator[float | None]:
        """For one agent run: its share of what nobody else has in hand, waited for; 0 when all is spent, None without a
        limit. `pay` inside the block."""
        while (usd := self._try_reserve()) == 0 and self._reserved and not inbox.poll_interruption():
            inbox.wait(BUDGET_POLL_SECONDS)  # what others do not spend comes back
        try:
            yield usd
        finally:
            if usd:
                with self._lock:
                    self._reserved.remove(usd)

    def add_cost(self, cost_usd: float | None) -> None:
        """An agent or a judge told what it cost."""
        with self._lock:
            self._spent_usd += cost_usd or 0.0

    def remaining_usd(self) -> float | None:
        with self._lock:
            left = None if self.budget_usd is None else self.budget_usd - self._spent_usd
            return left if left is None or left >= EPSILON_USD else 0.0

    def _try_reserve(self) -> float | None:
        with self._lock:
            if self.budget_usd is None:
                return None
            there = self.budget_usd - self._spent_usd - sum(self._reserved)
            if there < EPSILON_USD:
                return 0.0
            usd = there / max(1, self._members - len(self._reserved))
            self._reserved.append(usd)
            return usd


class TaskInbox:
    """One task's view, safe between the threads that verify for it. `cancelled` asks a database they may share."""

    def __init__(self, signals: Inbox, cancelled: Callable[[], bool]) -> None:
        self._signals, self._is_cancel_wanted = signals, cancelled
        self._cancelled = False
        self._is_uninterruptible = False
        self._lock = threading.Lock()
        self._asked_at = time.monotonic()
        self._pipe_read, self._pipe_write = os.pipe()  # signals arrive in the main thread; here time alone wakes us

    def fileno(self) -> int:
        return self._pipe_read

    def poll_interruption(self) -> str:
        self._poll_cancel()
        return TASK_CANCELLED if self._cancelled else self._signals.poll_interruption()

    def poll_stop_grace(self) -> float | None:
        """Seconds of grace for a step that must not be finished."""
        if self._is_uninterruptible:
            return None
        self._poll_cancel()
        return TASK_CANCEL_GRACE_SECONDS if self._cancelled else self._signals.poll_stop_grace()

    def wait(self, seconds: float) -> None:
        """Sleep until then or until an interruption."""
        until = time.monotonic() + seconds
        while not self.poll_interruption() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    @contextmanager
    def uninterruptible(self) -> Iterator[None]:
        """What runs inside the block is short, and must not be torn."""
        self._is_uninterruptible = True
        try:
            yield
        finally:
            self._is_uninterruptible = False

    def close(self) -> None:
        os.close(self._pipe_read)
        os.close(self._pipe_write)

    def _poll_cancel(self) -> None:
        with self._lock:
            now = time.monotonic()
            if not self._cancelled and now - self._asked_at >= TASK_CANCEL_POLL_SECONDS:
                self._asked_at = now
                self._cancelled = self._is_cancel_wanted()
