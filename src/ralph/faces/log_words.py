"""What agents and loops do, each event on one line."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.board.live_log import LiveEvent
from ralph.core.text.plain import one_line
from ralph.core.text.quantities import format_duration, format_money
from ralph.faces.glyphs import Glyphs
from ralph.model.events import (
    AgentEnded,
    Committed,
    Doing,
    Event,
    GateEnded,
    GateStarted,
    IterationStarted,
    Noted,
    Paused,
    Planned,
    RunEnded,
    RunStarted,
    Said,
    ToolEnded,
    ToolStarted,
    Waiting,
    Warned,
)

LogTone = Literal["said", "faint", "tool", "good", "bad", "warning", "heading"]
MAX_LOG_LINE_CELLS = 300  # cells of a line
MAX_TAIL_LINES_IN_LOG = 5  # of a failed check


class LogLine(Struct, frozen=True, gc=False, kw_only=True):  # a thousand of them
    """An event as it is shown."""

    at: float
    who: str
    role: str
    tone: LogTone
    text: str
    run: str = ""


class LogFormatter:
    """Makes one line of an event. Text of agents is sanitized and cut to MAX_LOG_LINE_CELLS."""

    def __init__(self, glyphs: Glyphs) -> None:
        self._glyphs = glyphs

    def format_line(self, live: LiveEvent) -> LogLine | None:
        """None for what is not worth a line."""
        tone, text = self._describe_event(live.event)
        short = one_line(text, MAX_LOG_LINE_CELLS, self._glyphs.ellipsis)
        if not short:
            return None
        return LogLine(at=live.at, who=live.label, role=live.role, tone=tone, text=short, run=live.run)

    def format_lines(self, live: LiveEvent) -> list[LogLine]:
        """The same, with the last lines of a failed check below it, and where all of its output is."""
        line = self.format_line(live)
        if line is None:
            return []
        event = live.event
        if not isinstance(event, GateEnded) or event.passed:
            return [line]
        tail = [text for text in event.tail.splitlines() if text.strip()][-MAX_TAIL_LINES_IN_LOG:]
        path = [f"full output: {event.log}"] if event.log else []
        return [line, *(replace(line, tone="faint", text=self._shorten_text(f"  {text}")) for text in (*tail, *path))]

    def format_activity(self, event: Event) -> str | None:
        """What the agent does from this event on; "" for nothing, None if the event does not change it."""
        match event:
            case ToolStarted(name=name, summary=summary):
                return self._shorten_text(f"{self._glyphs.tool} {name} {summary}")
            case GateStarted(gate):
                return self._shorten_text(f"{self._glyphs.check} verifying: {gate}")
            case Waiting(seconds, why):
                return self._shorten_text(f"{self._glyphs.wait} waiting {format_duration(seconds)}: {why}")
            case Doing(text):
                return self._shorten_text(f"{self._glyphs.dot} {text}")
            case Paused(by):
                return self._shorten_text(f"{self._glyphs.wait} paused by {by}")
            case Said(thinking=True):
                return f"{self._glyphs.dot} thinking"
            case ToolEnded() | IterationStarted() | AgentEnded() | GateEnded() | RunEnded():
                return ""
            case _:
                return None

    def _describe_event(self, event: Event) -> tuple[LogTone, str]:
        glyphs = self._glyphs
        match event:
            case Said(text=text, thinking=thinking):
                return ("faint", f"{glyphs.dot} {_first_line(text)}") if thinking else ("said", _first_line(text))
            case ToolStarted(name=name, summary=summary):
                return "tool", f"{glyphs.tool} {name} {summary}"
            case ToolEnded(error=None) as ended:
                return "faint", f"{glyphs.branch.strip()} {self._summarize_output(ended)}"
            case ToolEnded(error=error, output=output):
                return "bad", f"{glyphs.bad} {_first_line(error or output or 'error')}"
            case Planned(todos):
                done = sum(todo.state == "done" for todo in todos)
                active = next((f": {todo.text}" for todo in todos if todo.state == "active"), "")
                return "said", f"{glyphs.plan}Todo {done}/{len(todos)}{active}"
            case Noted(text) if not text.startswith("session:"):
                return "faint", f"{glyphs.dot} {text}"
            case _:
                return self._describe_loop_event(event)

    def _describe_loop_event(self, event: Event) -> tuple[LogTone, str]:
        glyphs = self._glyphs
        match event:
            case RunStarted(agent=agent, resumed=resumed):
                return "heading", f"{glyphs.right_arrow} {agent} {'resumes' if resumed else 'starts'}"
            case IterationStarted(iteration, limit, about):
                return "heading", f"{glyphs.rule * 2} Iteration {iteration}/{limit} {glyphs.dot} {about or 'agent'}"
            case AgentEnded(outcome="finished") as ended:
                cost = "" if ended.cost_usd is None else f" {glyphs.dot} {format_money(ended.cost_usd)}"
                return "good", f"{glyphs.ok} Agent finished in {format_duration(ended.seconds)}{cost}"
            case AgentEnded(outcome=outcome, detail=detail):
                return "bad", f"{glyphs.bad} {detail or outcome}"
            case GateEnded(gate=gate, passed=True, seconds=seconds):
                return "good", f"{glyphs.ok} {gate} passed ({format_duration(seconds, tenths=True)})"
            case GateEnded(gate=gate, detail=detail, exit_code=code):
                return "bad", f"{glyphs.bad} {gate} failed: {detail or f'exit code {code}'}"
            case Committed(done, message, problems):
                words = f"{glyphs.warn} {problems[0]}" if problems else f"{glyphs.ok} {message or ', '.join(done)}"
                return ("warning" if problems else "good"), words
            case Waiting(seconds, why):
                return "warning", f"{glyphs.wait} Waiting {format_duration(seconds)}: {why}"
            case Paused(by):
                return "warning", f"{glyphs.wait} Paused by {by}"
            case Warned(text):
                return "warning", f"{glyphs.warn} {text}"
            case RunEnded(outcome=outcome, why=why):
                good = outcome == "completed"
                return ("good" if good else "bad"), f"{glyphs.ok if good else glyphs.bad} {outcome.capitalize()}: {why}"
            case _:
                return "faint", ""

    def _summarize_output(self, ended: ToolEnded) -> str:
        if not ended.lines:
            return "no output"
        if ended.lines == 1:
            return _first_line(ended.output)
        return f"{ended.lines} lines: {_first_line(ended.output)}"

    def _shorten_text(self, text: str) -> str:
        return one_line(text, MAX_LOG_LINE_CELLS, self._glyphs.ellipsis)


def _first_line(text: str) -> str:
    """The first line that says something."""
    head = text[: MAX_LOG_LINE_CELLS * 4].lstrip()
    return head.partition("\n")[0]
