"""The world of `ralph supervise`: an agent to start, marks to look at, others to wait for."""

import time
from collections.abc import Callable, Sequence

from ralph.model.loop import (
    Await,
    Awaited,
    Brief,
    Decision,
    Fact,
    Interrupted,
    Look,
    Looked,
    RunAgent,
    Wait,
    Waited,
)
from ralph.model.ports import Inbox


class TaskWorld:
    """Everything a restart loop may touch."""

    def __init__(
        self,
        inbox: Inbox,
        attempt: Callable[[Brief], Fact],
        restarting: Callable[[], object],
        look: Callable[[], Looked],
        active_children: Callable[[], Sequence[str]],
        unmet: Callable[[], Sequence[str]],
        poll_interval: float,
    ) -> None:
        self._inbox = inbox
        self._attempt = attempt
        self._restarting = restarting
        self._look = look
        self._others = {"children": active_children, "dependencies": unmet}
        self._poll_interval = poll_interval

    def perform(self, decision: Decision) -> Fact:
        """One step of the loop."""
        match decision:
            case RunAgent(brief):
                return self._attempt(brief)
            case Look():
                return self._look()
            case Await(whom, seconds):
                return self._awaited(self._others[whom], seconds)
            case Wait(seconds):
                self._restarting()
                self._inbox.wait(seconds)
                return Waited()
            case _:
                raise ValueError(f"`ralph supervise` does not know how to {decision!r}")

    def _awaited(self, others: Callable[[], Sequence[str]], seconds: float | None) -> Fact:
        began = time.monotonic()
        while left := others():
            if by := self._inbox.interruption():
                return Interrupted(by)
            over = seconds is not None and time.monotonic() - began >= seconds
            if over:
                break
            self._inbox.wait(self._poll_interval)
        return Awaited(tuple(left))
