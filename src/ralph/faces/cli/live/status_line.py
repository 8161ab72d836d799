"""The line at the bottom of a terminal that tells what goes on now."""

from collections.abc import Callable, Sequence
from typing import Any

from ralph.core.text.plain import cells, fitted, one_line
from ralph.core.text.quantities import duration, money
from ralph.faces.cli.live.agent_lines import OPEN_CALLS
from ralph.faces.cli.terminal.look import Look
from ralph.faces.clock import until
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

PERIOD = 0.25  # seconds a line is good for
WORDS = 200  # cells of what is being done, before the whole is cut to the width


class Progress:
    """Listens, and has the line ready. Composed four times a second at most, repeated as often as lines go by."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._head = ""  # empty: no run, no line
        self._since = 0.0
        self._paid: float | None = None  # by agents that ended
        self._spent: float | None = None  # by the one at work
        self._open: dict[str, ToolStarted] = {}
        self._gate = ""
        self._wait: tuple[float, float] | None = None  # since when, and how long
        self._line = ""
        self._composed = float("-inf")
        self._heard: dict[type, Callable[[Any, float], None]] = {
            RunStarted: self._run_started,
            IterationStarted: self._iteration_started,
            ToolStarted: self._tool_started,
            ToolEnded: self._tool_ended,
            Spent: self._more_spent,
            AgentEnded: self._agent_ended,
            GateStarted: self._gate_started,
            GateEnded: self._gate_ended,
            Waiting: self._waiting,
            RunEnded: self._run_ended,
        }

    def hear(self, at: float, events: Sequence[Event]) -> None:
        """Keep up with the run."""
        for event in events:
            note = self._heard.get(type(event))
            if note is not None:
                note(event, at)

    def due(self, now: float) -> bool:
        """Whether the line is old, or the clock was set back."""
        return not 0 <= now - self._composed < PERIOD

    def compose(self, now: float, width: int) -> None:
        """A new line, of no more than `width` cells."""
        self._composed = now
        self._line = fitted(self._text(now), width, self._look.glyphs.ellipsis) if self._head else ""

    @property
    def line(self) -> str:
        """As it was composed last."""
        return self._line

    def drawn(self) -> str:
        """The line, to stand behind all that is written."""
        return f"{self._look.paint.dim}{self._line}{self._look.paint.off}" if self._line else ""

    def erased(self) -> str:
        """What removes it. Without colour no escape is sent: blanks do."""
        if not self._line:
            return ""
        return "\r\x1b[K" if self._look.color else "\r" + " " * cells(self._line) + "\r"

    def _text(self, now: float) -> str:
        glyphs = self._look.glyphs
        if self._wait:
            at, seconds = self._wait
            parts = [f"Waiting until {until(at, seconds)}", f"{duration(at + seconds - now)} left"]
        else:
            parts = [self._head, duration(now - self._since)]
        if self._paid is not None or self._spent is not None:
            parts.append(money((self._paid or 0.0) + (self._spent or 0.0)))
        if self._gate:
            parts.append(f"Guardrail {one_line(self._gate, WORDS, glyphs.ellipsis)}")
        elif self._open:
            tool = next(reversed(self._open.values()))
            parts.append(one_line(f"{tool.name} {tool.summary}".rstrip(), WORDS, glyphs.ellipsis))
        return f" {glyphs.dot} ".join(parts)

    def _run_started(self, event: RunStarted, at: float) -> None:
        self._head, self._since = f"run {one_line(event.run, WORDS)}", at
        self._paid = self._spent = None

    def _iteration_started(self, event: IterationStarted, at: float) -> None:
        self._head, self._since = f"Iteration {event.iteration}/{event.limit}", at
        self._open, self._gate, self._wait = {}, "", None

    def _tool_started(self, event: ToolStarted, _: float) -> None:
        if len(self._open) >= OPEN_CALLS:
            self._open = {}
        self._open[event.id] = event

    def _tool_ended(self, event: ToolEnded, _: float) -> None:
        self._open.pop(event.id, None)

    def _more_spent(self, event: Spent, _: float) -> None:
        if event.cost_usd is not None:
            self._spent = (self._spent or 0.0) + event.cost_usd

    def _agent_ended(self, event: AgentEnded, _: float) -> None:
        cost = self._spent if event.cost_usd is None else event.cost_usd
        if cost is not None:
            self._paid = (self._paid or 0.0) + cost
        self._open, self._spent = {}, None

    def _gate_started(self, event: GateStarted, _: float) -> None:
        self._gate = event.gate

    def _gate_ended(self, _: GateEnded, __: float) -> None:
        self._gate = ""

    def _waiting(self, event: Waiting, at: float) -> None:
        self._wait = (at, event.seconds)

    def _run_ended(self, _: RunEnded, __: float) -> None:
        self._head = ""
