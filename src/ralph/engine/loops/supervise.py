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
)
from ralph.model.ports import Inbox


class SuperviseEffects:
    """Everything a restart loop may touch."""

    def __init__(
        self,
        inbox: Inbox,
        attempt: Callable[[Brief], Fact],
        *,
        restarting: Callable[[], object],
        look: Callable[[], Looked],
        active_children: Callable[[], Sequence[str]],
        unmet: Callable[[], Sequence[str]],
        poll_interval: float,
    ) -> None:
        self._inbox = inbox
        self._run_agent = attempt
        self._announce_restart = restarting
        self._read_marks = look
        self._others = {"children": active_children, "dependencies": unmet}
        self._poll_interval = poll_interval

    def perform(self, decision: Decision) -> Fact | None:
        match decision:
            case RunAgent(brief):
                return self._run_agent(brief)
            case Look():
                return self._read_marks()
            case Await(whom, seconds):
                return self._await_others(self._others[whom], seconds)
            case Wait():
                self._announce_restart()
                return None
            case _:
                return None

    def _await_others(self, others: Callable[[], Sequence[str]], seconds: float | None) -> Fact:
        began = time.monotonic()
        while left := others():
            if by := self._inbox.poll_interruption():
                return Interrupted(by)
            over = seconds is not None and time.monotonic() - began >= seconds
            if over:
                break
            self._inbox.wait(self._poll_interval)
        return Awaited(tuple(left))
