"""Keeps the status line fresh also while nothing happens: an agent thinks, a limit is waited for."""

import threading
import time
from typing import Protocol


class Ticked(Protocol):
    """What is renewed."""

    def tick(self, now: float) -> object: ...


class StatusTicker:
    """A thread that calls `tick` twice a second until it is closed."""

    def __init__(self, ticked: Ticked, every: float) -> None:
        self._ticked, self._every = ticked, every
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="status-line", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(self._every):
            self._ticked.tick(time.time())
