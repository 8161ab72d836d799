"""The line at the bottom of a terminal that tells what goes on now."""

from collections.abc import Callable, Sequence
from typing import Any

from ralph.core.text.plain import count_cells, one_line, truncate_cells
from ralph.core.text.quantities import format_duration, format_money
from ralph.faces.cli.live.agent_lines import MAX_OPEN_CALLS
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.clock import format_end_time
from ralph.model.events import (
    AgentEnded,
    Event,
    GateEnded,
    GateStarted,
    IterationStarted,
    RunEnded,
    RunStarted,
    Spent,
    ToolEnded,
    ToolStarted,
    Waiting,
)

STATUS_LINE_SECONDS = 0.25  # seconds a line is good for
MAX_ACTIVITY_CELLS = 200  # cells of what is being done, before the whole is cut to the width


class StatusLine:
    """Follows the events of one run and composes its status line. The text is renewed four times a second at most;
    drawing it again is cheap."""

    def __init__(self, style: TerminalStyle) -> None:
        self._style = style
        self._head = ""  # empty: no run, no line
        self._started_at = 0.0
        self._ended_cost: float | None = None  # by agents that ended
        self._current_cost: float | None = None  # by the one at work
        self._open_calls: dict[str, ToolStarted] = {}
        self._gate = ""
        self._wait: tuple[float, float] | None = None  # since when, and how long
        self._line = ""
        self._composed_at = float("-inf")
        self._handlers: dict[type, Callable[[Any, float], None]] = {
            RunStarted: self._on_run_started,
            IterationStarted: self._on_iteration_started,
            ToolStarted: self._on_tool_started,
            ToolEnded: self._on_tool_ended,
            Spent: self._on_spent,
            AgentEnded: self._on_agent_ended,
            GateStarted: self._on_gate_started,
            GateEnded: self._on_gate_ended,
            Waiting: self._on_waiting,
            RunEnded: self._on_run_ended,
        }

    def handle_events(self, at: float, events: Sequence[Event]) -> None:
        for event in events:
            note = self._handlers.get(type(event))
            if note is not None:
                note(event, at)

    def is_due(self, now: float) -> bool:
        """Whether the line is older than STATUS_LINE_SECONDS, or the clock was set back."""
        return not 0 <= now - self._composed_at < STATUS_LINE_SECONDS

    def compose_line(self, now: float, width: int) -> None:
        """A new line, of no more than `width` cells."""
        self._composed_at = now
        self._line = truncate_cells(self._compose_text(now), width, self._style.glyphs.ellipsis) if self._head else ""

    @property
    def line(self) -> str:
        return self._line

    def render_line(self) -> str:
        """The line, dimmed, without a newline: it goes after everything else that is written."""
        return f"{self._style.palette.dim}{self._line}{self._style.palette.off}" if self._line else ""

    def render_erasure(self) -> str:
        """The characters that remove the line; without colour blanks, since no escape codes are sent then."""
        if not self._line:
            return ""
        return "\r\x1b[K" if self._style.color else "\r" + " " * count_cells(self._line) + "\r"

    def _compose_text(self, now: float) -> str:
        glyphs = self._style.glyphs
        if self._wait:
            at, seconds = self._wait
            parts = [f"Waiting until {format_end_time(at, seconds)}", f"{format_duration(at + seconds - now)} left"]
        else:
            parts = [self._head, format_duration(now - self._started_at)]
        if self._ended_cost is not None or self._current_cost is not None:
            parts.append(format_money((self._ended_cost or 0.0) + (self._current_cost or 0.0)))
        if self._gate:
            parts.append(f"Guardrail {one_line(self._gate, MAX_ACTIVITY_CELLS, glyphs.ellipsis)}")
        elif self._open_calls:
            tool = next(reversed(self._open_calls.values()))
            parts.append(one_line(f"{tool.name} {tool.summary}".rstrip(), MAX_ACTIVITY_CELLS, glyphs.ellipsis))
        return f" {glyphs.dot} ".join(parts)

    def _on_run_started(self, event: RunStarted, at: float) -> None:
        self._head, self._started_at = f"run {one_line(event.run, MAX_ACTIVITY_CELLS)}", at
        self._ended_cost = self._current_cost = None

    def _on_iteration_started(self, event: IterationStarted, at: float) -> None:
        self._head, self._started_at = f"Iteration {event.iteration}/{event.limit}", at
        self._open_calls, self._gate, self._wait = {}, "", None

    def _on_tool_started(self, event: ToolStarted, _: float) -> None:
        if len(self._open_calls) >= MAX_OPEN_CALLS:
            self._open_calls = {}
        self._open_calls[event.id] = event

    def _on_tool_ended(self, event: ToolEnded, _: float) -> None:
        self._open_calls.pop(event.id, None)

    def _on_spent(self, event: Spent, _: float) -> None:
        if event.cost_usd is not None:
            self._current_cost = (self._current_cost or 0.0) + event.cost_usd

    def _on_agent_ended(self, event: AgentEnded, _: float) -> None:
        cost = self._current_cost if event.cost_usd is None else event.cost_usd
        if cost is not None:
            self._ended_cost = (self._ended_cost or 0.0) + cost
        self._open_calls, self._current_cost = {}, None

    def _on_gate_started(self, event: GateStarted, _: float) -> None:
        self._gate = event.gate

    def _on_gate_ended(self, _: GateEnded, __: float) -> None:
        self._gate = ""

    def _on_waiting(self, event: Waiting, at: float) -> None:
        self._wait = (at, event.seconds)

    def _on_run_ended(self, _: RunEnded, __: float) -> None:
        self._head = ""
