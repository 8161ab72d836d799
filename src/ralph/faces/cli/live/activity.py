"""What a run does right now, in a few words."""

from collections.abc import Callable
from typing import Any

from ralph.core.text.plain import one_line
from ralph.core.text.quantities import format_duration
from ralph.faces.check_words import shorten_agent
from ralph.faces.cli.live.agent_lines import MAX_OPEN_CALLS, shorten_paths
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.clock import format_end_time
from ralph.model.events import (
    AgentEnded,
    Doing,
    Event,
    GateEnded,
    GateStarted,
    IterationStarted,
    Paused,
    Planned,
    RunStarted,
    Said,
    ToolEnded,
    ToolStarted,
    Waiting,
)

MAX_ACTIVITY_CELLS = 200  # cells of what is being done, before the whole is cut to the width
QUIET_SECONDS = 20  # after so long without a word it is said
LONG_STEP_SECONDS = 3  # from then on it is told how long a step takes
_AWAITED = {"limited": "for the limit", "overloaded": "for the service", "offline": "for the network"}


class Activity:
    """Follows the events of one run."""

    def __init__(self, style: TerminalStyle) -> None:
        self._style = style
        self._agent = "the agent"
        self._open_calls: dict[str, tuple[ToolStarted, float]] = {}
        self._wait: Waiting | None = None
        self._step = ""  # what is done, where it is no tool of the agent
        self._since = 0.0  # when that began
        self._last_sign_at = 0.0  # of the agent
        self._last_outcome = ""
        self._handlers: dict[type, Callable[[Any, float], None]] = {
            RunStarted: self._on_run_started,
            IterationStarted: self._on_iteration_started,
            Said: self._on_agent_sign,
            Planned: self._on_agent_sign,
            ToolStarted: self._on_tool_started,
            ToolEnded: self._on_tool_ended,
            AgentEnded: self._on_agent_ended,
            GateStarted: self._on_gate_started,
            GateEnded: self._on_gate_ended,
            Doing: lambda event, at: self._begin(f"{event.text}{self._style.glyphs.ellipsis}", at),
            Waiting: self._on_waiting,
            Paused: self._on_paused,
        }

    def handle_event(self, event: Event, at: float) -> None:
        note = self._handlers.get(type(event))
        if note is not None:
            note(event, at)

    def describe(self, now: float) -> str:
        """starting claude…, Bash make test (12s), checking make test, waiting for the limit, until 14:05 (4m left)"""
        if self._wait is not None:
            return self._describe_wait(self._wait, now)
        ellipsis = self._style.glyphs.ellipsis
        if self._step:
            return self._with_time(self._step, now - self._since)
        if self._open_calls:
            tool, began = next(reversed(self._open_calls.values()))
            about = shorten_paths(tool.summary, self._style.folder)
            text = one_line(f"{tool.name} {about}".rstrip(), MAX_ACTIVITY_CELLS, ellipsis)
            return self._with_time(text, now - began)
        quiet = now - self._last_sign_at
        if quiet < QUIET_SECONDS:
            return f"{self._agent} at work"
        return f"{self._agent} at work, quiet for {format_duration(quiet)}"

    def _describe_wait(self, wait: Waiting, now: float) -> str:
        what = _AWAITED.get(self._last_outcome, "")
        left = format_duration(max(0.0, self._since + wait.seconds - now))
        end = format_end_time(self._since, wait.seconds)
        return f"waiting {what + ', ' if what else ''}until {end} ({left} left)"

    def _with_time(self, text: str, seconds: float) -> str:
        return f"{text} ({format_duration(seconds)})" if seconds >= LONG_STEP_SECONDS else text

    def _begin(self, step: str, at: float) -> None:
        self._step, self._since, self._wait = step, at, None

    def _on_run_started(self, event: RunStarted, at: float) -> None:
        self._agent = (
            one_line(shorten_agent(event.agent), MAX_ACTIVITY_CELLS, self._style.glyphs.ellipsis) or self._agent
        )
        self._open_calls, self._last_sign_at = {}, at
        self._begin(f"preparing{self._style.glyphs.ellipsis}", at)

    def _on_iteration_started(self, _: IterationStarted, at: float) -> None:
        self._open_calls = {}
        self._begin(f"starting {self._agent}{self._style.glyphs.ellipsis}", at)

    def _on_agent_sign(self, _: object, at: float) -> None:
        self._step, self._last_sign_at = "", at

    def _on_tool_started(self, event: ToolStarted, at: float) -> None:
        if len(self._open_calls) >= MAX_OPEN_CALLS:
            self._open_calls = {}
        self._open_calls[event.id] = event, at
        self._on_agent_sign(event, at)

    def _on_tool_ended(self, event: ToolEnded, at: float) -> None:
        self._open_calls.pop(event.id, None)
        self._on_agent_sign(event, at)

    def _on_agent_ended(self, event: AgentEnded, at: float) -> None:
        self._open_calls, self._last_outcome = {}, event.outcome
        self._begin(f"looking at what changed{self._style.glyphs.ellipsis}", at)

    def _on_gate_started(self, event: GateStarted, at: float) -> None:
        verb = "verifying" if event.is_verification else "checking"
        self._begin(one_line(f"{verb} {event.gate}", MAX_ACTIVITY_CELLS, self._style.glyphs.ellipsis), at)

    def _on_gate_ended(self, _: GateEnded, at: float) -> None:
        self._begin(f"preparing the next step{self._style.glyphs.ellipsis}", at)

    def _on_paused(self, event: Paused, at: float) -> None:
        self._open_calls = {}
        self._begin(one_line(f"paused by {event.by}", MAX_ACTIVITY_CELLS, self._style.glyphs.ellipsis), at)

    def _on_waiting(self, event: Waiting, at: float) -> None:
        self._begin("", at)
        self._wait = event
