"""The line at the bottom of a terminal that tells what goes on now."""

from collections.abc import Callable, Sequence
from typing import Any

from ralph.core.text.plain import count_cells, truncate_cells
from ralph.core.text.quantities import format_duration, format_money
from ralph.faces.cli.live.activity import Activity
from ralph.faces.cli.live.strip import IterationStrip
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.model.events import AgentEnded, Event, IterationStarted, RunEnded, RunStarted, Spent

STATUS_LINE_SECONDS = 0.25  # seconds a line is good for
MIN_ACTIVITY_CELLS = 16  # what is being done matters more than keys and cost


class StatusLine:
    """Follows the events of one run and composes its status line: ✗✗ 3/10 · 6m7s · $0.71 of $5.00 · Bash make test. The
    text is renewed four times a second at most; drawing it again is cheap."""

    def __init__(self, style: TerminalStyle) -> None:
        self._style = style
        self._head = ""  # empty: no run, no line
        self._started_at = 0.0
        self._budget: float | None = None
        self._ended_cost: float | None = None  # by agents that ended
        self._current_cost: float | None = None  # by the one at work
        self._is_estimated = False
        self._activity = Activity(style)
        self._strip = IterationStrip(style)
        self._marks = ""
        self._rest = ""
        self._composed_at = float("-inf")
        self._handlers: dict[type, Callable[[Any, float], None]] = {
            RunStarted: self._on_run_started,
            IterationStarted: self._on_iteration_started,
            Spent: self._on_spent,
            AgentEnded: self._on_agent_ended,
            RunEnded: self._on_run_ended,
        }

    def handle_events(self, at: float, events: Sequence[Event]) -> None:
        for event in events:
            self._activity.handle_event(event, at)
            self._strip.handle_event(event)
            note = self._handlers.get(type(event))
            if note is not None:
                note(event, at)

    def is_due(self, now: float) -> bool:
        """Whether the line is older than STATUS_LINE_SECONDS, or the clock was set back."""
        return not 0 <= now - self._composed_at < STATUS_LINE_SECONDS

    def compose_line(self, now: float, width: int, keys: str = "") -> None:
        """A new line, of no more than `width` cells; what matters least is left out first: the keys, then the cost."""
        self._composed_at = now
        self._marks = self._rest = ""
        if not self._head or width < 1:
            return
        glyphs = self._style.glyphs
        self._marks = self._strip.render_marks(width)
        room = width - count_cells(self._marks)
        lead, doing = " " if self._marks else "", self._activity.describe(now)
        elapsed, cost = format_duration(now - self._started_at), self._format_cost()
        choices = (
            (self._head, elapsed, cost, doing, keys),
            (self._head, elapsed, cost, doing),
            (self._head, elapsed, doing),
            (self._head, doing),
        )
        texts = [lead + f" {glyphs.dot} ".join(filter(None, parts)) for parts in choices]
        # All of the activity beside the keys, or enough of it to know what goes on.
        spare = max(0, count_cells(doing) - MIN_ACTIVITY_CELLS)
        needs = (count_cells(texts[0]), *(count_cells(text) - spare for text in texts[1:-1]), 0)
        chosen = next(text for text, need in zip(texts, needs, strict=True) if need <= room)
        self._rest = truncate_cells(chosen, room, glyphs.ellipsis)

    def show_prompt(self, now: float, width: int, prompt: str) -> None:
        """What somebody types, in the place of the line; of a long text the end."""
        self._composed_at, self._marks = now, ""
        ellipsis = self._style.glyphs.ellipsis
        while count_cells(prompt) > width > count_cells(ellipsis):
            prompt = ellipsis + prompt[len(ellipsis) + 1 if prompt.startswith(ellipsis) else 1 :]
        self._rest = prompt

    def clear_line(self) -> None:
        """Nothing is drawn until the next line is composed."""
        self._marks = self._rest = ""
        self._composed_at = float("-inf")

    @property
    def line(self) -> str:
        return self._marks + self._rest

    @property
    def has_run(self) -> bool:
        return bool(self._head)

    def render_line(self) -> str:
        """The line, dimmed, without a newline: it goes after everything else that is written."""
        paint = self._style.palette
        if not self.line:
            return ""
        return f"{self._strip.paint_marks(self._marks)}{paint.dim}{self._rest}{paint.off}"

    def render_erasure(self) -> str:
        """The characters that remove the line; without colour blanks, since no escape codes are sent then."""
        if not self.line:
            return ""
        return "\r\x1b[K" if self._style.color else "\r" + " " * count_cells(self.line) + "\r"

    def _format_cost(self) -> str:
        """≈$0.71 of $5.00"""
        known = self._ended_cost is not None or self._current_cost is not None
        if not known and self._budget is None:
            return ""
        about = self._style.glyphs.about if self._is_estimated else ""
        spent = f"{about}{format_money((self._ended_cost or 0.0) + (self._current_cost or 0.0))}"
        return spent if self._budget is None else f"{spent} of {format_money(self._budget)}"

    def _on_run_started(self, event: RunStarted, at: float) -> None:
        self._head, self._started_at, self._budget = "ralph", at, event.budget_usd
        self._ended_cost, self._current_cost = event.spent_usd or None, None
        self._is_estimated = event.estimated

    def _on_iteration_started(self, event: IterationStarted, _: float) -> None:
        who = event.about.partition(" ")[0]
        self._head = f"{who} {event.iteration}/{event.limit}".strip()

    def _on_spent(self, event: Spent, _: float) -> None:
        self._is_estimated |= event.cost_usd is None and bool(event.estimated_usd)
        self._current_cost = _add(self._current_cost, event.cost_usd, event.estimated_usd)

    def _on_agent_ended(self, event: AgentEnded, _: float) -> None:
        self._is_estimated |= event.cost_usd is None and bool(event.estimated_usd)
        cost = _add(None, event.cost_usd, event.estimated_usd)
        self._ended_cost = _add(self._ended_cost, self._current_cost if cost is None else cost)
        self._current_cost = None

    def _on_run_ended(self, _: RunEnded, __: float) -> None:
        self._head, self._composed_at = "", float("-inf")  # the next drawing leaves nothing


def _add(before: float | None, cost_usd: float | None, estimated_usd: float | None = None) -> float | None:
    more = estimated_usd if cost_usd is None else cost_usd
    return before if more is None else (before or 0.0) + more
