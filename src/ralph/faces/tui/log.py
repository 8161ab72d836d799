"""The live log: what all running agents do, the newest at the bottom."""

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ralph.core.text.plain import one_line, wrap_text
from ralph.faces.clock import format_local_time
from ralph.faces.glyphs import Glyphs
from ralph.faces.log_words import LogLine
from ralph.faces.tui.colors import FAINT_STYLE, PLAIN_STYLE, TONE_STYLES, get_lane_color
from ralph.faces.tui.log_book import MAX_LOG_LINES
from ralph.faces.tui.rows import fit_segments
from ralph.model.spec import ROLES

MAX_LOG_NAME_CELLS = 20  # cells of who it is, at most
ALL_AGENTS_TITLE = "Log: all agents"
NOTHING_RUNS_MESSAGE = "Nothing is running. Start with `ralph run -p PROMPT` or `ralph execute`."
NO_LOG_MESSAGE = "Nothing logged yet."


class LogPanel(ScrollView, can_focus=True):
    """Follows until someone scrolls up; `f`, or going to the end, follows again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", show=False),
        Binding("k,up", "move(-1)", show=False),
        Binding("pagedown", "move(10)", show=False),
        Binding("pageup", "move(-10)", show=False),
        Binding("g,home", "move(-1000000)", show=False),
        Binding("G,end", "follow(True)", show=False),
    ]

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="log")
        self._glyphs = glyphs
        self._lines: deque[LogLine] = deque(maxlen=MAX_LOG_LINES)
        self._name_cells = 0  # cells of the longest name so far
        self.is_following = True
        self._title = ALL_AGENTS_TITLE
        self._base_style = PLAIN_STYLE
        self._update_border_title()

    def add_lines(self, lines: Iterable[LogLine]) -> None:
        new = list(lines)
        if not new:
            return
        dropped = max(0, len(self._lines) + len(new) - MAX_LOG_LINES)
        self._lines.extend(new)
        self._name_cells = max(self._name_cells, *(cell_len(self._format_source(line)) for line in new))
        self.virtual_size = Size(1, len(self._lines))
        if self.is_following:
            self._scroll_to_row(self.max_scroll_y)
        elif dropped:
            self._scroll_to_row(self.scroll_offset.y - dropped)  # what is read stays where it is
        self.refresh()

    def show_log(self, title: str, lines: Iterable[LogLine]) -> None:
        """Another log in the place of this one, from its end."""
        self._title = title
        self._lines.clear()
        self._name_cells = 0
        self.virtual_size = Size(1, 0)
        self.add_lines(lines)
        self.action_follow(True)
        self.refresh()

    def action_follow(self, follow: bool) -> None:
        self.is_following = follow
        self._update_border_title()
        if follow:
            self._scroll_to_row(self.max_scroll_y)

    def action_move(self, by: int) -> None:
        """Up stops following; down to the end begins again."""
        at = self.scroll_offset.y + by
        self.action_follow(at >= self.max_scroll_y)
        if not self.is_following:
            self._scroll_to_row(at)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        event.prevent_default()
        self.action_move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        event.prevent_default()
        self.action_move(3)

    def on_resize(self) -> None:
        if self.is_following:
            self.scroll_end(animate=False, force=True)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Works out the background style once for all lines."""
        self._base_style = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """The line at `y` of the visible part."""
        width, base = self.scrollable_content_region.width, self._base_style
        row = y + self.scroll_offset.y
        if not self._lines:
            message = NOTHING_RUNS_MESSAGE if self._title == ALL_AGENTS_TITLE else NO_LOG_MESSAGE
            text = next(islice(wrap_text(message, max(1, width - 2)), y, None), "")
            return Strip(fit_segments([(" ", base), (text, base + FAINT_STYLE)], width), width)
        if row >= len(self._lines):
            return Strip.blank(width, base)
        line = self._lines[row]
        cells = min(self._name_cells, MAX_LOG_NAME_CELLS, max(8, width // 5))
        name = one_line(self._format_source(line), cells, self._glyphs.ellipsis)
        parts = [
            (f" {format_local_time('%H:%M:%S', line.at)} ", base + FAINT_STYLE),
            (f"{name}{' ' * (cells - cell_len(name))}  ", base + Style(color=get_lane_color(line.role))),
        ]
        left = max(0, width - 1 - sum(cell_len(text) for text, _ in parts))
        text = one_line(line.text, left, self._glyphs.ellipsis)
        return Strip(fit_segments([*parts, (text, base + TONE_STYLES[line.tone])], width), width)

    def _scroll_to_row(self, y: int) -> None:
        """At once: of two that wait, the later might be done first."""
        self.scroll_to(y=max(0, y), animate=False, force=True, immediate=True)

    def _update_border_title(self) -> None:
        self.border_title = self._title
        self.border_subtitle = "" if self.is_following else "paused: f to follow"

    def _format_source(self, line: LogLine) -> str:
        """Whose line it is; in the log of one card only the stage."""
        if self._title != ALL_AGENTS_TITLE:
            return line.role
        return f"{line.who} {line.role}" if line.role in ROLES else line.who
