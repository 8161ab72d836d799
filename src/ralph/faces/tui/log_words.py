"""What agents and loops do, each event on one line."""

from typing import Literal

from msgspec import Struct

from ralph.app.board.live_log import Heard
from ralph.core.text.plain import one_line
from ralph.core.text.quantities import duration, money, timing
from ralph.faces.glyphs import Glyphs
from ralph.model.events import (
    AgentEnded,
    Committed,
    Event,
    GateEnded,
    GateStarted,
    IterationStarted,
    Noted,
    Planned,
    RunEnded,
    RunStarted,
    Said,
    ToolEnded,
    ToolStarted,
    Waiting,
    Warned,
)

Tone = Literal["said", "faint", "tool", "good", "bad", "warning", "heading"]
LONGEST = 300  # cells of a line


class LogLine(Struct, frozen=True, gc=False):  # a thousand of them
    """An event as it is shown."""

    at: float
    who: str
    role: str
    tone: Tone
    text: str


class LogWords:
    """Every word of an agent is cleaned and cut."""

    def __init__(self, glyphs: Glyphs) -> None:
        self._glyphs = glyphs

    def line(self, heard: Heard) -> LogLine | None:
        """None for what is not worth a line."""
        tone, text = self._told(heard.event)
        short = one_line(text, LONGEST, self._glyphs.ellipsis)
        return LogLine(heard.at, heard.who, heard.role, tone, short) if short else None

    def doing(self, event: Event) -> str | None:
        """What its agent does from now on; None: as before."""
        match event:
            case ToolStarted(name=name, summary=summary):
                return self._short(f"{self._glyphs.tool} {name} {summary}")
            case GateStarted(gate):
                return self._short(f"{self._glyphs.check} verifying: {gate}")
            case Waiting(seconds, why):
                return self._short(f"{self._glyphs.wait} waiting {duration(seconds)}: {why}")
            case Said(thinking=True):
                return f"{self._glyphs.dot} thinking"
            case ToolEnded() | IterationStarted() | AgentEnded() | GateEnded() | RunEnded():
                return ""
            case _:
                return None

    def _told(self, event: Event) -> tuple[Tone, str]:
        glyphs = self._glyphs
        match event:
            case Said(text=text, thinking=thinking):
                return ("faint", f"{glyphs.dot} {_first(text)}") if thinking else ("said", _first(text))
            case ToolStarted(name=name, summary=summary):
                return "tool", f"{glyphs.tool} {name} {summary}"
            case ToolEnded(error=None) as ended:
                return "faint", f"{glyphs.branch.strip()} {self._size(ended)}"
            case ToolEnded(error=error, output=output):
                return "bad", f"{glyphs.bad} {_first(error or output or 'error')}"
            case Planned(todos):
                done = sum(todo.state == "done" for todo in todos)
                active = next((f": {todo.text}" for todo in todos if todo.state == "active"), "")
                return "said", f"{glyphs.plan}Todo {done}/{len(todos)}{active}"
            case Noted(text) if not text.startswith("session:"):
                return "faint", f"{glyphs.dot} {text}"
            case _:
                return self._of_loop(event)

    def _of_loop(self, event: Event) -> tuple[Tone, str]:
        glyphs = self._glyphs
        match event:
            case RunStarted(agent=agent, resumed=resumed):
                return "heading", f"{glyphs.leads} {agent} {'goes on' if resumed else 'begins'}"
            case IterationStarted(iteration, limit, about):
                return "heading", f"{glyphs.rule * 2} Iteration {iteration}/{limit} {glyphs.dot} {about or 'agent'}"
            case AgentEnded(outcome="finished") as ended:
                cost = "" if ended.cost_usd is None else f" {glyphs.dot} {money(ended.cost_usd)}"
                return "good", f"{glyphs.ok} Agent finished in {duration(ended.seconds)}{cost}"
            case AgentEnded(outcome=outcome, detail=detail):
                return "bad", f"{glyphs.bad} {detail or outcome}"
            case GateEnded(gate=gate, passed=True, seconds=seconds):
                return "good", f"{glyphs.ok} {gate} passed ({timing(seconds)})"
            case GateEnded(gate=gate, detail=detail, exit_code=code):
                return "bad", f"{glyphs.bad} {gate} failed: {detail or f'exit code {code}'}"
            case Committed(done, message, problems):
                words = f"{glyphs.warn} {problems[0]}" if problems else f"{glyphs.ok} {message or ', '.join(done)}"
                return ("warning" if problems else "good"), words
            case Waiting(seconds, why):
                return "warning", f"{glyphs.wait} Waiting {duration(seconds)}: {why}"
            case Warned(text):
                return "warning", f"{glyphs.warn} {text}"
            case RunEnded(outcome=outcome, why=why):
                good = outcome == "completed"
                return ("good" if good else "bad"), f"{glyphs.ok if good else glyphs.bad} {outcome.capitalize()}: {why}"
            case _:
                return "faint", ""

    def _size(self, ended: ToolEnded) -> str:
        if not ended.lines:
            return "no output"
        if ended.lines == 1:
            return _first(ended.output)
        return f"{ended.lines} lines: {_first(ended.output)}"

    def _short(self, text: str) -> str:
        return one_line(text, LONGEST, self._glyphs.ellipsis)


def _first(text: str) -> str:
    """The first line that says something."""
    head = text[: LONGEST * 4].lstrip()
    return head.partition("\n")[0]
