"""A child's output → the raw log, and whole lines → parser → events for whoever watches."""

import time
from collections.abc import Sequence

from ralph.model.events import AgentEvent, Unparsed
from ralph.model.ports import LineParser, Watcher
from ralph.process.output import BoundedLog, Lines


class Conversation:
    """One agent run, heard once."""

    def __init__(self, parser: LineParser, log: BoundedLog, watchers: Sequence[Watcher], iteration: int) -> None:
        self._parser = parser
        self._log = log
        self._watchers = watchers
        self._iteration = iteration
        self._lines = Lines()

    def hear(self, data: bytes) -> None:
        """Take a block as it comes."""
        self._log.write(data)
        if block := self._lines.feed(data):
            self._tell(self._parser.feed(block))
            if self._lines.oversize:
                self._tell([Unparsed(size) for size in self._lines.oversize])
                self._lines.oversize.clear()

    def finish(self) -> None:
        """The rest, even without its newline."""
        if block := self._lines.finish():
            self._tell(self._parser.feed(block))
        self._tell([Unparsed(size) for size in self._lines.oversize])
        self._log.close()

    def _tell(self, events: Sequence[AgentEvent]) -> None:
        if events:
            now = time.time()
            for watch in self._watchers:
                watch(now, self._iteration, events)
