"""What can end one task of many: its own cancel, its run's, or the user's signal; and money they share."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph.model.ports import Inbox

ASK_EVERY = 0.5
LOOK_EVERY = 0.2
DUST = 1e-6  # what sums of money leave behind
CANCEL_GRACE = 1.0
CANCELLED = "cancelled"


class Purse:
    """Money for all tasks together; safe between threads. What one agent may spend is set aside while it runs: several
    at once spend no more than there is."""

    def __init__(self, budget_usd: float | None) -> None:
        self.budget_usd = budget_usd
        self._spent = 0.0
        self._lent: list[float] = []  # to agents that run now
        self._sharers = 0
        self._lock = threading.Lock()

    @contextmanager
    def shared(self) -> Iterator[None]:
        """One task more to be paid for."""
        with self._lock:
            self._sharers += 1
        try:
            yield
        finally:
            with self._lock:
                self._sharers -= 1

    @contextmanager
    def lent(self, inbox: Inbox) -> Iterator[float | None]:
        """For one agent run: its share of what nobody else has in hand, waited for; 0 when all is spent, None without a
        limit. `pay` inside the block."""
        while (usd := self._lend()) == 0 and self._lent and not inbox.interruption():
            inbox.wait(LOOK_EVERY)  # what others do not spend comes back
        try:
            yield usd
        finally:
            if usd:
                with self._lock:
                    self._lent.remove(usd)

    def pay(self, cost_usd: float | None) -> None:
        """An agent or a judge told what it cost."""
        with self._lock:
            self._spent += cost_usd or 0.0

    def left(self) -> float | None:
        """None: there is no limit."""
        with self._lock:
            left = None if self.budget_usd is None else self.budget_usd - self._spent
            return left if left is None or left >= DUST else 0.0

    def _lend(self) -> float | None:
        with self._lock:
            if self.budget_usd is None:
                return None
            there = self.budget_usd - self._spent - sum(self._lent)
            if there < DUST:
                return 0.0
            usd = there / max(1, self._sharers - len(self._lent))
            self._lent.append(usd)
            return usd


class TaskInbox:
    """One task's view, safe between the threads that verify for it. `cancelled` asks a database they may share."""

    def __init__(self, signals: Inbox, cancelled: Callable[[], bool]) -> None:
        self._signals, self._ask = signals, cancelled
        self._cancelled = False
        self._patient = False
        self._lock = threading.Lock()
        self._asked_at = time.monotonic()
        self._quiet, self._end = os.pipe()  # signals arrive in the main thread; here time alone wakes us

    def fileno(self) -> int:
        """Never readable."""
        return self._quiet

    def interruption(self) -> str:
        """Who wants this task to end."""
        self._look()
        return CANCELLED if self._cancelled else self._signals.interruption()

    def stop_now(self) -> float | None:
        """Seconds of grace for a step that must not be finished."""
        if self._patient:
            return None
        self._look()
        return CANCEL_GRACE if self._cancelled else self._signals.stop_now()

    def wait(self, seconds: float) -> None:
        """Sleep until then or until an interruption."""
        until = time.monotonic() + seconds
        while not self.interruption() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    @contextmanager
    def patient(self) -> Iterator[None]:
        """What runs inside the block is short, and must not be torn."""
        self._patient = True
        try:
            yield
        finally:
            self._patient = False

    def close(self) -> None:
        """No more."""
        os.close(self._quiet)
        os.close(self._end)

    def _look(self) -> None:
        with self._lock:
            now = time.monotonic()
            if not self._cancelled and now - self._asked_at >= ASK_EVERY:
                self._asked_at = now
                self._cancelled = self._ask()
