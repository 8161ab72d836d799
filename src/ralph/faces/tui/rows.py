"""A list drawn line by line: it costs what its visible lines cost, however long it is."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ralph.faces.tui.colors import PLAIN_STYLE, SELECTED_STYLE

StyledParts = Sequence[tuple[str, Style]]


class ItemList(ScrollView, can_focus=True):
    """Items of any height in one or more columns. The cursor stays with its item when others come and go."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "step(1)", show=False),
        Binding("k,up", "step(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("g,home", "end(-1)", show=False),
        Binding("G,end", "end(1)", show=False),
    ]

    class Chosen(Message):
        """An item was clicked twice."""

    class Selected(Message):
        """The user put the cursor on an item."""

    def __init__(self, id_: str) -> None:
        super().__init__(id=id_)
        self._keys: Sequence[str] = ()
        self._row_starts: Sequence[int] = (0,)  # the line each row of items begins at, and the end
        self.column_count = 1
        self.cursor = 0
        self._base_style = PLAIN_STYLE

    @property
    def selected_key(self) -> str:
        """The key of the item under the cursor; empty if the list is."""
        return self._keys[self.cursor] if self._keys else ""

    def set_items(self, keys: Sequence[str], heights: Sequence[int]) -> None:
        key = self.selected_key
        rows = heights if self.column_count == 1 else _row_heights(heights, self.column_count)
        self._keys, self._row_starts = keys, (0, *accumulate(rows))
        at = self.cursor if self.get_key_at(self.cursor) == key else self._find_index_of(key)
        self.cursor = max(0, min(at, len(keys) - 1))
        self.virtual_size = Size(1, self._row_starts[-1])
        self.refresh()

    def get_key_at(self, index: int) -> str:
        """The key of one item; empty where there is none."""
        return self._keys[index] if 0 <= index < len(self._keys) else ""

    def render_item_line(self, index: int, part: int, width: int) -> StyledParts:
        """One line of one item, for subclasses: styled texts of at most `width` cells; nothing for a gap."""
        return []

    def render_lines(self, crop: Region) -> list[Strip]:
        """Works out the background style once for all lines."""
        self._base_style = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """The line at `y` of the visible part."""
        width, row = self.scrollable_content_region.width, y + self.scroll_offset.y
        if row >= self._row_starts[-1]:
            return Strip.blank(width, self._base_style)
        at = bisect_right(self._row_starts, row) - 1
        part, share = row - self._row_starts[at], width // self.column_count
        segments = [
            s for i in range(self.column_count) for s in self._render_item(at * self.column_count + i, part, share)
        ]
        return Strip([*segments, Segment(" " * (width - share * self.column_count), self._base_style)], width)

    def select_item(self, index: int) -> None:
        """Put the cursor there, as far as the list goes, and show it."""
        at = max(0, min(index, len(self._keys) - 1))
        if at != self.cursor:
            self.cursor = at
            self.refresh()
        self.scroll_to_cursor()

    def scroll_to_cursor(self) -> None:
        """Scroll, if it is out of sight."""
        if self._keys:
            row = self.cursor // self.column_count
            start, end = self._row_starts[row], self._row_starts[row + 1]
            self.scroll_to_region(Region(0, start, 1, end - start), animate=False, force=True)

    def action_step(self, by: int) -> None:
        self._select_by_user(self.cursor + by)

    def action_page(self, by: int) -> None:
        """A screenful up or down, by one item at least."""
        line = self._row_starts[self.cursor // self.column_count] + by * max(1, self.size.height - 1)
        there = self._find_index_at(max(0, min(line, self._row_starts[-1] - 1)), 0)
        self._select_by_user(max(there, self.cursor + 1) if by > 0 else min(there, self.cursor - 1))

    def action_end(self, side: int) -> None:
        self._select_by_user(len(self._keys) if side > 0 else 0)

    def on_click(self, event: events.Click) -> None:
        """Under the mouse; twice opens it."""
        offset = event.get_content_offset(self)
        row = -1 if offset is None else offset.y + self.scroll_offset.y
        if 0 <= row < self._row_starts[-1]:
            self._select_by_user(self._find_index_at(row, 0 if offset is None else offset.x))
            if event.chain == 2:
                self.post_message(self.Chosen())

    def on_resize(self) -> None:
        """What was seen stays in sight."""
        self.scroll_to_cursor()

    def _select_by_user(self, index: int) -> None:
        self.select_item(index)
        if self._keys:
            self.post_message(self.Selected())

    def _render_item(self, index: int, part: int, width: int) -> list[Segment]:
        parts = self.render_item_line(index, part, width) if index < len(self._keys) else []
        if not parts:
            return [Segment(" " * width, self._base_style)]
        over = SELECTED_STYLE if self.has_focus and index == self.cursor else PLAIN_STYLE
        return fit_segments([(text, self._base_style + style + over) for text, style in parts], width)

    def _find_index_at(self, line: int, x: int) -> int:
        column = x * self.column_count // max(1, self.scrollable_content_region.width)
        return (bisect_right(self._row_starts, line) - 1) * self.column_count + min(column, self.column_count - 1)

    def _find_index_of(self, key: str) -> int:
        try:
            return self._keys.index(key)
        except ValueError:
            return self.cursor


def _row_heights(heights: Sequence[int], columns: int) -> list[int]:
    return [max(heights[at : at + columns]) for at in range(0, len(heights), columns)]


def fit_segments(parts: StyledParts, width: int) -> list[Segment]:
    """Texts side by side, cut to the width in cells or filled up in the first one's style."""
    segments: list[Segment] = []
    for text, style in parts:
        fitting = text if cell_len(text) <= width else set_cell_size(text, width)
        width -= cell_len(fitting)
        segments.append(Segment(fitting, style))
    return [*segments, Segment(" " * width, parts[0][1])]
