"""A child's output → the raw log, and whole lines → parser → events for whoever watches."""

import time
from collections.abc import Callable, Sequence
from math import inf

from msgspec.structs import replace

from ralph.core.outcome import REJECTED_STATUSES
from ralph.model.command import ENOUGH_OUTPUT, FINAL_OUTPUT
from ralph.model.events import AgentEvent, Finished, Noted, Spent, ToolEnded, Unparsed, Usage
from ralph.model.ports import LineParser, Watcher
from ralph.process.output import BoundedLog, FindSecrets, LineSplitter

MAX_REJECTIONS = 2  # times in a row that a key is not accepted; some agents go on trying for minutes
MAX_TOOL_ERRORS, MAX_TOOL_ERROR_CHARS = 200, 300  # that are remembered of one run
BACKGROUND_EVENTS = (Noted, Spent, Unparsed)  # events that say nothing of whether the agent is at work


class OutputStream:
    """One agent run, heard once."""

    def __init__(
        self,
        parser: LineParser,
        log: BoundedLog,
        *,
        watchers: Sequence[Watcher],
        iteration: int,
        budget_usd: float | None = None,
        estimate: Callable[[Usage], float | None] | None = None,
    ) -> None:
        """`estimate`: what tokens cost, for an agent that tells no cost."""
        self._estimate = estimate
        self._parser = parser
        self._log = log
        self._watchers = watchers
        self._iteration = iteration
        self._budget = self._budget_left = inf if budget_usd is None else budget_usd
        self._has_told_cost = False
        self._lines = LineSplitter()
        self._closed = False
        self._rejections = 0
        self._tools_ended = self._tools_failed = 0
        self._tool_errors: list[str] = []

    def feed(self, data: bytes) -> str | None:
        """Take a block as it comes. ENOUGH_OUTPUT, once the agent told that it spent what it may or that its key is not
        accepted; FINAL_OUTPUT, while its closing event is the last it did."""
        self._log.write(data)
        if block := self._lines.feed(data):
            self._emit(self._parser.feed(block))
            if self._lines.oversize_sizes:
                self._emit([Unparsed(size=size) for size in self._lines.oversize_sizes])
                self._lines.oversize_sizes.clear()
            if self._closed:  # what some begin anew with is no event
                self._closed = self._parser.summarize_run().closing != "none"
        if self._is_budget_spent() or self._rejections >= MAX_REJECTIONS:
            return ENOUGH_OUTPUT
        return FINAL_OUTPUT if self._closed else None

    def finish(self, find_secrets: FindSecrets | None = None) -> None:
        """The rest, even without its newline. `find_secrets`: what the log does not keep."""
        if block := self._lines.finish():
            self._emit(self._parser.feed(block))
        self._emit([Unparsed(size=size) for size in self._lines.oversize_sizes])
        self._log.close(find_secrets)

    def find_repeated_error(self) -> str:
        """What most of its tool calls ended with, where most of them failed; else empty."""
        errors = self._tool_errors
        if not errors or self._tools_failed * 2 < self._tools_ended:
            return ""
        most = max(dict.fromkeys(errors), key=errors.count)
        return most if errors.count(most) * 2 >= min(self._tools_ended, MAX_TOOL_ERRORS) else ""

    def _is_budget_spent(self) -> bool:
        """By what it told, or by tokens it told on the way to an end where it tells all."""
        if self._budget == inf or self._estimate is None or self._has_told_cost:
            return self._budget_left <= 0
        so_far = self._estimate(self._parser.summarize_run().usage) or 0.0
        return self._budget_left <= 0 or so_far >= self._budget

    def _add_estimate(self, event: AgentEvent) -> AgentEvent:
        if type(event) is not Spent or event.cost_usd is not None or self._estimate is None:
            return event
        return replace(event, estimated_usd=self._estimate(event.usage))

    def _count_tool_errors(self, events: Sequence[AgentEvent]) -> None:
        for event in events:
            if type(event) is ToolEnded:
                self._tools_ended += 1
                self._tools_failed += event.error is not None
                if event.error is not None and len(self._tool_errors) < MAX_TOOL_ERRORS:
                    self._tool_errors.append(event.error.strip()[:MAX_TOOL_ERROR_CHARS])

    def _emit(self, events: Sequence[AgentEvent]) -> None:
        if events:
            self._count_tool_errors(events)
            if self._estimate is not None:
                events = [*map(self._add_estimate, events)]
            if self._budget_left != inf:
                spent = [event for event in events if isinstance(event, Spent)]
                self._budget_left -= sum(map(_price, spent))
                self._has_told_cost |= any(event.cost_usd is not None for event in spent)
            self._closed = _is_closed(events, self._closed)
            self._rejections = _count_rejections(events, self._rejections)
            now = time.time()
            for watch in self._watchers:
                watch(now, self._iteration, events)


def _price(spent: Spent) -> float:
    return (spent.estimated_usd if spent.cost_usd is None else spent.cost_usd) or 0.0


def _count_rejections(events: Sequence[AgentEvent], before: int) -> int:
    """How often in a row the service did not accept the key, up to the last of these events."""
    count = 0
    for event in reversed(events):
        if type(event) is Noted:
            count += event.status in REJECTED_STATUSES
        elif type(event) not in BACKGROUND_EVENTS:
            return count
    return before + count


def _is_closed(events: Sequence[AgentEvent], before: bool) -> bool:
    """Whether nothing is under way: an agent may go on after its closing event, and close again."""
    for event in reversed(events):  # the last or the one before it tells
        if type(event) not in BACKGROUND_EVENTS:
            return type(event) is Finished
    return before
