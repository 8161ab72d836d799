"""A child's output → the raw log, and whole lines → parser → events for whoever watches."""

import time
from collections.abc import Sequence
from math import inf

from ralph.model.command import ENOUGH, LAST_WORD
from ralph.model.events import AgentEvent, Finished, Noted, Spent, Unparsed
from ralph.model.ports import LineParser, Watcher
from ralph.process.output import BoundedLog, Lines

ASIDE = (Noted, Spent, Unparsed)  # events that say nothing of whether the agent is at work


class Conversation:
    """One agent run, heard once."""

    def __init__(
        self,
        parser: LineParser,
        log: BoundedLog,
        watchers: Sequence[Watcher],
        iteration: int,
        budget_usd: float | None = None,
    ) -> None:
        self._parser = parser
        self._log = log
        self._watchers = watchers
        self._iteration = iteration
        self._left = inf if budget_usd is None else budget_usd
        self._lines = Lines()
        self._closed = False

    def hear(self, data: bytes) -> str | None:
        """Take a block as it comes. ENOUGH, once the agent told that it spent what it may; LAST_WORD, while its closing
        event is the last it did."""
        self._log.write(data)
        if block := self._lines.feed(data):
            self._tell(self._parser.feed(block))
            if self._lines.oversize:
                self._tell([Unparsed(size) for size in self._lines.oversize])
                self._lines.oversize.clear()
            if self._closed:  # what some begin anew with is no event
                self._closed = self._parser.heard().closing != "none"
        return ENOUGH if self._left <= 0 else LAST_WORD if self._closed else None

    def finish(self) -> None:
        """The rest, even without its newline."""
        if block := self._lines.finish():
            self._tell(self._parser.feed(block))
        self._tell([Unparsed(size) for size in self._lines.oversize])
        self._log.close()

    def _tell(self, events: Sequence[AgentEvent]) -> None:
        if events:
            if self._left != inf:
                self._left -= sum(event.cost_usd or 0.0 for event in events if isinstance(event, Spent))
            self._closed = _is_closed(events, self._closed)
            now = time.time()
            for watch in self._watchers:
                watch(now, self._iteration, events)


def _is_closed(events: Sequence[AgentEvent], before: bool) -> bool:
    """Whether nothing is under way: an agent may go on after its closing event, and close again."""
    for event in reversed(events):  # the last or the one before it tells
        if type(event) not in ASIDE:
            return type(event) is Finished
    return before
