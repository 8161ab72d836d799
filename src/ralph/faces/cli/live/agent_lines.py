"""An agent's events as text for people. Every word of an agent passes through `plain`."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ralph.core.text.plain import cells, first_lines, one_line, plain, wrapped
from ralph.core.text.quantities import counted
from ralph.faces.cli.terminal.look import LOG_WIDTH, Look
from ralph.model.events import Finished, Noted, Planned, Said, Spent, Todo, ToolEnded, ToolStarted, Unparsed

NAME = 40  # cells of a tool's name
OPEN_CALLS = 1000  # more unanswered calls than this are forgotten

Render = Callable[[Any], str]  # of the one event type it is filed under; "" shows nothing


class AgentLines:
    """Each method gives the lines of one event. It remembers the names of open tool calls, and what it hinted at."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._paint = look.paint
        self._glyphs = look.glyphs
        self._branch = f"{look.paint.dim}{look.glyphs.branch}{look.paint.off}"
        self._blank = " " * cells(look.glyphs.branch)
        self.resized(look.width)
        self._names: dict[str, str] = {}
        self._hinted: set[bool] = set()
        self._short = lru_cache(maxsize=200)(self._shortened)  # agents have few tools, and call them often
        self.renders: Mapping[type, Render] = {
            Said: self.said,
            ToolStarted: self.tool_started,
            ToolEnded: self.tool_ended,
            Planned: self.planned,
            Noted: self.noted,
            Unparsed: self.unparsed,
            Spent: _nothing,
            Finished: _nothing,  # the loop's own verdict follows
        }

    def resized(self, width: int) -> None:
        """The terminal has another width now."""
        self._width = width
        limit = self._look.max_output_chars if self._look.max_output_lines > 0 else 0
        self._limit = min(limit, width - len(self._blank) - 2) if width else limit

    def run_began(self) -> None:
        """Hints are given once a run."""
        self._hinted.clear()

    def agent_began(self) -> None:
        """A fresh agent answers none of the last one's calls."""
        self._names.clear()

    def said(self, event: Said) -> str:
        """Its text, whole; of its thoughts a line."""
        indent = "  " if event.nested else ""
        if event.thinking:
            return self._dimmed(event.text.lstrip(), indent)
        text = event.text.strip("\n")
        text = "\n".join(wrapped(text, self._width - len(indent))) if self._width else plain(text)
        return indent + text.replace("\n", "\n" + indent) if indent and text else text

    def tool_started(self, event: ToolStarted) -> str:
        """⏺ Read(path)"""
        paint, glyphs = self._paint, self._glyphs
        name = self._opened(event)
        lead = f"  {glyphs.tool}" if event.nested else glyphs.tool
        line = f"{paint.cyan}{lead}{paint.off} {paint.bold}{name}{paint.off}"
        if not event.summary:
            return line
        room = max(8, (self._width or LOG_WIDTH) - len(lead) - cells(name) - 3)
        return f"{line}({one_line(event.summary, room, glyphs.ellipsis)})"

    def tool_ended(self, event: ToolEnded) -> str:
        """✅ Result ← Read (45 lines, 1234 chars), and the first of these lines."""
        head, paint = self.tool_heading(event), self._paint
        text, tint = (event.output, paint.dim) if event.error is None else (event.error or event.output, paint.red)
        return head + self.beginning(text, event.lines, tint, "  " if event.nested else "") if text else head

    def tool_heading(self, event: ToolEnded) -> str:
        """✅ Result ← Read (45 lines, 1234 chars)"""
        paint, glyphs = self._paint, self._glyphs
        indent = "  " if event.nested else ""
        name = self._names.pop(event.id, "")
        if event.error is None:
            head = f"{indent}{paint.green}{glyphs.ok}{paint.off} Result"
        else:
            head = f"{indent}{paint.red}{glyphs.bad} Error{paint.off}"
        if name:
            head += f" {glyphs.back} {name}"
        if event.lines > 1:
            head += f" ({event.lines} lines, {event.chars} chars)"
        elif event.lines:
            head += f" (1 line, {counted(event.chars, 'char')})"
        elif event.chars:  # its lines were not counted
            head += f" ({event.chars} chars)"
        elif event.error is None:
            head += " (no output)"
        return head

    def planned(self, event: Planned) -> str:
        """📋 Todo List, its items, and how many of them are done."""
        todos = event.todos
        if not todos:
            return ""
        paint, glyphs = self._paint, self._glyphs
        done = sum(todo.state == "done" for todo in todos)
        lines = [f"{paint.bold}{glyphs.plan}Todo List{paint.off}", *map(self._todo, todos)]
        lines.append(f"  {glyphs.progress}Progress: {done}/{len(todos)} ({100 * done / len(todos):.0f}%)")
        return "\n".join(lines)

    def noted(self, event: Noted) -> str:
        """A status line, dimmed."""
        return self._dimmed(event.text)

    def unparsed(self, event: Unparsed) -> str:
        """A hint for the first event of an unknown kind, and one for the first line that is none."""
        known = bool(event.kind)
        if known in self._hinted:
            return ""
        self._hinted.add(known)
        if known:
            kind = self._shortened(event.kind)
            return self._dimmed(f"1 event of a kind this ralph does not know ({kind!r}): an update may help")
        return self._dimmed(f"1 line of output that is no event: {event.sample}".rstrip(": "))

    def beginning(self, text: str, total: int, tint: str, indent: str = "") -> str:
        """Below a heading: a newline, a branch and the first lines, each cut; and how many of all there are more."""
        if self._limit < 1:
            return ""
        off, ellipsis = self._paint.off, self._glyphs.ellipsis
        body = text.strip("\n")
        lines = first_lines(body, self._look.max_output_lines, self._limit, ellipsis)
        more = total - len(lines) - (len(text) - len(body) - text.endswith("\n"))
        if more > 0:
            lines.append(f"{self._paint.dim}{ellipsis} {counted(more, 'more line')}")
        below = f"{off}\n{indent}{self._blank}{tint}".join(lines)
        return f"\n{indent}{self._branch}{tint}{below}{off}"

    def _opened(self, event: ToolStarted) -> str:
        if len(self._names) >= OPEN_CALLS:
            self._names.clear()
        name = self._names[event.id] = self._short(event.name)
        return name

    def _shortened(self, name: str) -> str:
        return one_line(name, NAME, self._glyphs.ellipsis)

    def _dimmed(self, text: str, indent: str = "") -> str:
        room = (self._width or LOG_WIDTH) - 2 - len(indent)
        line = one_line(text, room, self._glyphs.ellipsis)
        return f"{indent}{self._paint.dim}{self._glyphs.dot} {line}{self._paint.off}" if line else ""

    def _todo(self, todo: Todo) -> str:
        paint, glyphs = self._paint, self._glyphs
        text = one_line(todo.text, (self._width or LOG_WIDTH) - 16, glyphs.ellipsis)
        match todo.state:
            case "done":
                return f"  {paint.green}{glyphs.done}{paint.off} {paint.dim}{text}{paint.off}"
            case "active":
                return f"  {paint.yellow}{glyphs.active} {text} {glyphs.back} ACTIVE{paint.off}"
            case "pending":
                return f"  {glyphs.pending} {text}"


def _nothing(_: object) -> str:
    return ""
