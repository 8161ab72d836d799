"""The clocks of a run, and who wants it to end: what the core may not ask for itself."""

import time
from collections.abc import Callable

from ralph.model.loop import Fact, Observation
from ralph.model.ports import Inbox


class Clock:
    """Seconds into a run; stands still between its lives."""

    def __init__(self, inbox: Inbox, already: float = 0.0, sum_today: Callable[[], float] | None = None) -> None:
        """`sum_today`: what all runs of this machine spent since midnight; None: nobody wants to know."""
        self._inbox, self._sum_today = inbox, sum_today
        self._began = time.monotonic() - already

    def observe(self, fact: Fact) -> Observation:
        """The fact, with the clocks and interruptions of now."""
        return Observation(
            fact=fact,
            at=time.monotonic() - self._began,
            wall=time.time(),
            interrupted_by=self._inbox.poll_interruption(),
            today_usd=None if self._sum_today is None else self._sum_today(),
        )
