"""What can end one task of many: its own cancel, its run's, or the user's signal; and money they share."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph.model.ports import Inbox

ASK_EVERY = 0.5
CANCEL_GRACE = 1.0
CANCELLED = "cancelled"


class Purse:
    """Money for all tasks together; safe between threads."""

    def __init__(self, budget_usd: float | None) -> None:
        self.budget_usd = budget_usd
        self._spent = 0.0
        self._lock = threading.Lock()

    def pay(self, cost_usd: float | None) -> None:
        """An agent or a judge told what it cost."""
        with self._lock:
            self._spent += cost_usd or 0.0

    def left(self) -> float | None:
        """None: there is no limit."""
        with self._lock:
            return None if self.budget_usd is None else self.budget_usd - self._spent


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
