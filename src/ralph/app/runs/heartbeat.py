"""A run's signs of life, for who cannot see its process: given while it asks whether somebody wants it to end."""

import time

from ralph.app.runs.recovery import LEASE_SECONDS
from ralph.model.store_ports import RunStore

HEARTBEAT_SECONDS = LEASE_SECONDS / 6


class Heartbeat:
    """Of one run."""

    def __init__(self, runs: RunStore, run: str) -> None:
        self._runs, self._run = runs, run
        self._due = time.monotonic() + HEARTBEAT_SECONDS  # its record is its first

    def is_cancel_wanted(self) -> bool:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + HEARTBEAT_SECONDS
            self._runs.beat(self._run, time.time())
        return self._runs.has_wish(self._run, "cancel")

    def is_stop_wanted(self) -> bool:
        """After the current step."""
        return self._runs.has_wish(self._run, "stop")
