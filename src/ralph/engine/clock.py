"""The clocks of a run, and who wants it to end: what the core may not ask for itself."""

import time

from ralph.model.loop import Fact, Observation
from ralph.model.ports import Inbox


class Clock:
    """Seconds into a run; stands still between its lives."""

    def __init__(self, inbox: Inbox, already: float = 0.0) -> None:
        self._inbox = inbox
        self._began = time.monotonic() - already

    def observe(self, fact: Fact) -> Observation:
        """The fact, with the clocks and interruptions of now."""
        return Observation(
            fact=fact,
            at=time.monotonic() - self._began,
            wall=time.time(),
            interrupted_by=self._inbox.poll_interruption(),
        )
