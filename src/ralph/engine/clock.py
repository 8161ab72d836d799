"""The clocks of a run, and who wants it to end: what the core may not ask for itself."""

import time
from collections.abc import Callable

from ralph.model.control import Wishes
from ralph.model.loop import Fact, Observation
from ralph.model.ports import Inbox


class Clock:
    """Seconds into a run; stands still between its lives, and while it is paused."""

    def __init__(
        self,
        inbox: Inbox,
        already: float = 0.0,
        sum_today: Callable[[Fact], float] | None = None,
        read_wishes: Callable[[], Wishes] = Wishes,
    ) -> None:
        """`sum_today`: what all runs of this machine spent since midnight, the fact included; None: nobody wants to
        know. `read_wishes`: what people want of this run."""
        self._inbox, self._sum_today, self._read_wishes = inbox, sum_today, read_wishes
        self._began = time.monotonic() - already

    def observe(self, fact: Fact) -> Observation:
        """The fact, with the clocks, interruptions and wishes of now."""
        wishes = self._read_wishes()
        return Observation(
            fact=fact,
            at=time.monotonic() - self._began,
            wall=time.time(),
            interrupted_by=self._inbox.poll_interruption(),
            today_usd=None if self._sum_today is None else self._sum_today(fact),
            paused_by=wishes.paused_by,
            notes=wishes.notes,
        )

    def stand_still(self, seconds: float) -> None:
        """So long nobody was allowed to work: it counts for no limit."""
        self._began += seconds
