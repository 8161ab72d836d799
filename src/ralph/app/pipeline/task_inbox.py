"""What can end one task of many: its own cancel, its run's, or the user's signal."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph.model.ports import Inbox

TASK_CANCEL_POLL_SECONDS = 0.5
TASK_CANCEL_GRACE_SECONDS = 1.0
TASK_CANCELLED = "cancelled"


class TaskInbox:
    """One task's view, safe between the threads that verify for it, which may share the database `is_cancel_wanted`
    asks."""

    def __init__(self, signals: Inbox, is_cancel_wanted: Callable[[], bool]) -> None:
        self._signals, self._is_cancel_wanted = signals, is_cancel_wanted
        self._cancelled = False
        self._is_uninterruptible = False
        self._lock = threading.Lock()
        self._asked_at = time.monotonic()

    def fileno(self) -> None:
        """Signals arrive in the main thread; here time alone wakes us."""

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
        """What runs inside the block is short, and must not be cut in half."""
        self._is_uninterruptible = True
        try:
            yield
        finally:
            self._is_uninterruptible = False

    def _poll_cancel(self) -> None:
        with self._lock:
            now = time.monotonic()
            if not self._cancelled and now - self._asked_at >= TASK_CANCEL_POLL_SECONDS:
                self._asked_at = now
                self._cancelled = self._is_cancel_wanted()
