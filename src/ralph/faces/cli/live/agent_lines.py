"""An agent's events as text for people. Every word of an agent passes through `plain`."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ralph.core.text.plain import count_cells, one_line, sanitize, take_first_lines, truncate_cells, wrap_text
from ralph.core.text.quantities import pluralize
from ralph.faces.cli.live.edit_lines import format_edit_size, render_hunk
from ralph.faces.cli.terminal.look import DEFAULT_LOG_WIDTH, TerminalStyle
from ralph.model.events import Finished, Noted, Planned, Said, Spent, Todo, ToolEnded, ToolStarted, Unparsed

_SESSION_NOTES = ("session: ", "thread: ")
_WORKTREE_PREFIX = re.compile(r"\.ralph/worktrees/[^/\s]+/")
MAX_TOOL_NAME_CELLS = 40  # cells of a tool's name
MAX_OPEN_CALLS = 1000  # more unanswered calls than this are forgotten

EventRenderer = Callable[[Any], str]  # of the one event type it is filed under; "" shows nothing


class AgentEventRenderer:
    """One method for each type of agent event; each returns lines. Keeps the names of open tool calls and which
    hints were given."""

    def __init__(self, style: TerminalStyle) -> None:
        self._style = style
        self._palette = style.palette
        self._glyphs = style.glyphs
        self._branch = f"{style.palette.dim}{style.glyphs.branch}{style.palette.off}"
        self._blank = " " * count_cells(style.glyphs.branch)
        self.set_width(style.width)
        self._open_call_names: dict[str, str] = {}
        self._open_edits: set[str] = set()  # calls whose lines were shown when they began
        self._hints_given: set[bool] = set()
        self._cached_short_name = lru_cache(maxsize=200)(
            self._shorten_name
        )  # agents have few tools, and call them often
        self.renderers: Mapping[type, EventRenderer] = {
            Said: self.render_said,
            ToolStarted: self.render_tool_started,
            ToolEnded: self.render_tool_ended,
            Planned: self.render_planned,
            Noted: self.render_noted,
            Unparsed: self.render_unparsed,
            Spent: _render_nothing,
            Finished: _render_nothing,  # the loop's own verdict follows
        }

    def set_width(self, width: int) -> None:
        """The terminal has another width now."""
        self._width = width
        limit = self._style.max_output_chars if self._style.max_output_lines > 0 else 0
        self._limit = min(limit, width - len(self._blank) - 2) if width else limit

    def reset_hints(self) -> None:
        """Each hint is given once a run."""
        self._hints_given.clear()

    def forget_open_calls(self) -> None:
        """Call ids of the last agent mean nothing to a fresh one."""
        self._open_call_names.clear()
        self._open_edits.clear()

    def render_said(self, event: Said) -> str:
        """Text in full; of thinking one dimmed line."""
        indent = "  " if event.nested else ""
        if event.thinking:
            return self._render_dimmed(event.text.lstrip(), indent)
        text = event.text.strip("\n")
        text = "\n".join(wrap_text(text, self._width - len(indent))) if self._width else sanitize(text)
        return indent + text.replace("\n", "\n" + indent) if indent and text else text

    def render_tool_started(self, event: ToolStarted) -> str:
        """⏺ Read(path), ⏺ Edit(path +1 −1) and the lines that change"""
        paint, glyphs = self._palette, self._glyphs
        name = self._open_call(event)
        lead = f"  {glyphs.tool}" if event.nested else glyphs.tool
        line = f"{paint.cyan}{lead}{paint.off} {paint.bold}{name}{paint.off}"
        size = "" if event.edit is None else f" {format_edit_size(event.edit, self._style)}"
        if event.summary:
            room = max(8, (self._width or DEFAULT_LOG_WIDTH) - len(lead) - count_cells(name + size) - 3)
            line += f"({one_line(shorten_paths(event.summary, self._style.folder), room, glyphs.ellipsis)}{size})"
        if event.edit is None:
            return line
        return line + render_hunk(event.edit, self._style, self._width, "  " if event.nested else "")

    def render_tool_ended(self, event: ToolEnded) -> str:
        """✅ Result ← Read (45 lines, 1234 chars), and the first of these lines."""
        is_edit = event.id in self._open_edits
        head, paint = self.render_tool_heading(event), self._palette
        text, tint = (event.output, paint.dim) if event.error is None else (event.error or event.output, paint.red)
        indent = "  " if event.nested else ""
        if not text or (is_edit and event.error is None):  # what it changed stands above
            return head
        if event.from_end:
            return head + self._render_last_lines(text, event.lines, tint, indent)
        return head + self.render_first_lines(text, event.lines, tint, indent)

    def render_tool_heading(self, event: ToolEnded) -> str:
        """✅ Result ← Read (45 lines, 1234 chars)"""
        paint, glyphs = self._palette, self._glyphs
        indent = "  " if event.nested else ""
        name = self._open_call_names.pop(event.id, "")
        self._open_edits.discard(event.id)
        if event.error is None:
            head = f"{indent}{paint.green}{glyphs.ok}{paint.off} Result"
        else:
            head = f"{indent}{paint.red}{glyphs.bad} Error{paint.off}"
        if name:
            head += f" {glyphs.left_arrow} {name}"
        if event.lines > 1:
            head += f" ({event.lines} lines, {event.chars} chars)"
        elif event.lines:
            head += f" (1 line, {pluralize(event.chars, 'char')})"
        elif event.chars:  # its lines were not counted
            head += f" ({event.chars} chars)"
        elif event.error is None:
            head += " (no output)"
        return head

    def render_planned(self, event: Planned) -> str:
        """📋 Todo List, its items, and how many of them are done."""
        todos = event.todos
        if not todos:
            return ""
        paint, glyphs = self._palette, self._glyphs
        done = sum(todo.state == "done" for todo in todos)
        lines = [f"{paint.bold}{glyphs.plan}Todo List{paint.off}", *map(self._render_todo, todos)]
        lines.append(f"  {glyphs.progress}Progress: {done}/{len(todos)} ({100 * done / len(todos):.0f}%)")
        return "\n".join(lines)

    def render_noted(self, event: Noted) -> str:
        """Names of sessions are for who looks for trouble."""
        is_session = event.text.startswith(_SESSION_NOTES)
        return "" if is_session and not self._style.verbose else self._render_dimmed(event.text)

    def render_unparsed(self, event: Unparsed) -> str:
        """A hint for the first event of an unknown kind, and one for the first line that is none."""
        known = bool(event.kind)
        if known in self._hints_given:
            return ""
        self._hints_given.add(known)
        if known:
            kind = self._shorten_name(event.kind)
            return self._render_dimmed(f"unknown event {kind!r}: this agent may need a newer ralph")
        return self._render_dimmed(f"output that is not an event: {event.sample}".rstrip(": "))

    def render_first_lines(self, text: str, total: int, tint: str, indent: str = "") -> str:
        """The first lines of an output, each cut to the width, and how many more of `total` there are. Starts with
        a newline."""
        if self._limit < 1:
            return ""
        off, ellipsis = self._palette.off, self._glyphs.ellipsis
        body = text.strip("\n")
        lines = take_first_lines(body, self._style.max_output_lines, self._limit, ellipsis)
        more = total - len(lines) - (len(text) - len(body) - text.endswith("\n"))
        if more > 0:
            lines.append(f"{self._palette.dim}{ellipsis} {pluralize(more, 'more line')}")
        below = f"{off}\n{indent}{self._blank}{tint}".join(lines)
        return f"\n{indent}{self._branch}{tint}{below}{off}"

    def _render_last_lines(self, text: str, total: int, tint: str, indent: str) -> str:
        """The last lines of an output, each cut to the width, and how many there are above them."""
        if self._limit < 1:
            return ""
        off, ellipsis = self._palette.off, self._glyphs.ellipsis
        lines = [line for line in sanitize(text).expandtabs(4).splitlines() if line.strip()]
        shown = [truncate_cells(line, self._limit, ellipsis) for line in lines[-self._style.max_output_lines :]]
        above = total - len(shown)
        if above > 0:
            shown.insert(0, f"{self._palette.dim}{ellipsis} {pluralize(above, 'line')} above{off}{tint}")
        below = f"{off}\n{indent}{self._blank}{tint}".join(shown)
        return f"\n{indent}{self._branch}{tint}{below}{off}"

    def _open_call(self, event: ToolStarted) -> str:
        if len(self._open_call_names) >= MAX_OPEN_CALLS:
            self.forget_open_calls()
        if event.edit is not None and self._style.max_edit_lines:
            self._open_edits.add(event.id)
        name = self._open_call_names[event.id] = self._cached_short_name(event.name)
        return name

    def _shorten_name(self, name: str) -> str:
        return one_line(name, MAX_TOOL_NAME_CELLS, self._glyphs.ellipsis)

    def _render_dimmed(self, text: str, indent: str = "") -> str:
        room = (self._width or DEFAULT_LOG_WIDTH) - 2 - len(indent)
        line = one_line(text, room, self._glyphs.ellipsis)
        return f"{indent}{self._palette.dim}{self._glyphs.dot} {line}{self._palette.off}" if line else ""

    def _render_todo(self, todo: Todo) -> str:
        paint, glyphs = self._palette, self._glyphs
        text = one_line(todo.text, (self._width or DEFAULT_LOG_WIDTH) - 16, glyphs.ellipsis)
        match todo.state:
            case "done":
                return f"  {paint.green}{glyphs.done}{paint.off} {paint.dim}{text}{paint.off}"
            case "active":
                return f"  {paint.yellow}{glyphs.active} {text} {glyphs.left_arrow} ACTIVE{paint.off}"
            case "pending":
                return f"  {glyphs.pending} {text}"


def shorten_paths(summary: str, folder: str) -> str:
    """Paths below the folder ralph works in, or below a task's work tree, are relative to it."""
    if folder and folder in summary:
        summary = _WORKTREE_PREFIX.sub("", summary.replace(f"{folder}/", ""))
    return summary


def _render_nothing(_: object) -> str:
    return ""
