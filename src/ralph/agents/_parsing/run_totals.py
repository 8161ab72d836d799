"""What the parsers of Codex, Gemini and opencode keep until the end of a run."""

from collections.abc import Sequence
from typing import Literal

from ralph.agents._parsing.meter import Meter
from ralph.agents._parsing.tools import BoundedDict
from ralph.model.events import AgentEvent, Unparsed
from ralph.model.ports import ParsedRun


class RunTotals:
    """Of one run. A parser fills it in as lines come."""

    def __init__(self) -> None:
        self._meter = Meter()
        self._closing: Literal["success", "error", "none"] = "none"
        self._text = ""
        self._error = ""
        self._status: int | None = None
        self._cut_short = False
        self._denials: dict[str, None] = {}  # in order, each once
        self._refused_commands = BoundedDict()
        self._broken = ""
        self._tools = 0
        self._errors = 0
        self._unparsed = 0

    def summarize_run(self) -> ParsedRun:
        return ParsedRun(
            closing=self._closing,
            text=self._text,
            error=self._error,
            status=self._status,
            cut_short=self._cut_short,
            cost_usd=self._meter.cost_usd,
            usage=self._meter.usage,
            tools=self._tools,
            errors=self._errors,
            denials=tuple(self._denials),
            refused_commands=tuple(self._refused_commands),
            broken=self._broken,
            unparsed=self._unparsed,
        )

    def _record_denial(self, tool: str, command: str) -> None:
        self._denials[tool] = None
        if command and command not in self._refused_commands:
            self._refused_commands.remember(command)

    def _count_unparsed(self, line: Unparsed) -> Sequence[AgentEvent]:
        self._unparsed += line.count
        return (line,)
