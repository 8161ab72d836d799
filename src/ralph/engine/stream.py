"""A child's output → the raw log, and whole lines → parser → events for whoever watches."""

import time
from collections.abc import Sequence
from math import inf

from ralph.model.command import ENOUGH
from ralph.model.events import AgentEvent, Spent, Unparsed
from ralph.model.ports import LineParser, Watcher
from ralph.process.output import BoundedLog, Lines


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

    def hear(self, data: bytes) -> str | None:
        """Take a block as it comes. ENOUGH, once the agent told that it spent what it may."""
        self._log.write(data)
        if block := self._lines.feed(data):
            self._tell(self._parser.feed(block))
            if self._lines.oversize:
                self._tell([Unparsed(size) for size in self._lines.oversize])
                self._lines.oversize.clear()
        return ENOUGH if self._left <= 0 else None

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
            now = time.time()
            for watch in self._watchers:
                watch(now, self._iteration, events)
