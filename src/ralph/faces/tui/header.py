"""The lines on top: the headline, and the lanes as tabs where there is room for one only."""

from collections.abc import Mapping

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import Static

from ralph.app.board.view import BoardView
from ralph.faces.board_words import LANE_TITLES, format_headline_parts
from ralph.faces.glyphs import Glyphs
from ralph.faces.tui.colors import FAINT_STYLE, TONE_STYLES, get_lane_color

PROGRESS_BAR_CELLS = 20  # cells


class Headline(Static):
    """The top line: place, what runs, how much is done, cost and time."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="headline", markup=False)
        self._glyphs = glyphs
        self._last_drawn: object = None

    def show_view(self, view: BoardView, now: float, problem: str) -> None:
        """Drawn again when a word of it changed."""
        place, running, done, *more = format_headline_parts(view, now)
        shown = (place, running, done, *more, problem, self.size.width)
        if shown == self._last_drawn:
            return
        self._last_drawn = shown
        text = Text(no_wrap=True, overflow="ellipsis", end="")
        text.append("ralph", "bold").append("  ")
        dot = "*" if self._glyphs.rule.isascii() else "●"
        text.append(f"{dot} {running}", TONE_STYLES["good"] if view.running_slots else FAINT_STYLE)
        text.append(f"  {place}  ", "bold")
        self._append_progress_bar(text, view)
        text.append(f"  {done}")
        if problem:
            text.append(f"  {self._glyphs.warn} {problem}", TONE_STYLES["bad"])
        for part in more:
            if text.cell_len + len(part) + 3 <= self.size.width:  # a half would mislead
                text.append(f" {self._glyphs.dot} {part}")
        self.update(text, layout=False)

    def _append_progress_bar(self, text: Text, view: BoardView) -> None:
        total = len(view.cards) - view.count_status("cancelled")
        if total and self.size.width >= 100:
            full = PROGRESS_BAR_CELLS * view.count_status("done") // total
            text.append(self._glyphs.rule * full, TONE_STYLES["good"]).append(
                self._glyphs.rule * (PROGRESS_BAR_CELLS - full), "#39424f"
            )


class LaneTabs(Static):
    """Each lane with its count; a click goes there."""

    class Chosen(Message):
        """A lane was clicked."""

        def __init__(self, lane: str) -> None:
            super().__init__()
            self.lane = lane

    def __init__(self) -> None:
        super().__init__(id="tabs", markup=False)
        self._last_drawn: object = None
        self._tab_ends: list[tuple[int, str]] = []

    def show_counts(self, counts: Mapping[str, int], current: str) -> None:
        """Drawn again when a count or the lane changed."""
        shown = (dict(counts), current, self.size.width)
        if shown == self._last_drawn:
            return
        self._last_drawn = shown
        lanes = list(counts)
        labels = {lane: f" {LANE_TITLES[lane]} {count} " for lane, count in counts.items()}
        if sum(map(len, labels.values())) > self.size.width:  # no room for all: the one that is seen
            labels = {current: f" {LANE_TITLES[current]} {counts[current]} ({lanes.index(current) + 1}/{len(lanes)}) "}
        text, self._tab_ends, end = Text(no_wrap=True, overflow="crop", end=""), [], 0
        for lane, label in labels.items():
            text.append(label, f"reverse bold {get_lane_color(lane)}" if lane == current else get_lane_color(lane))
            end += len(label)
            self._tab_ends.append((end, lane))
        self.update(text, layout=False)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        lane = next((lane for end, lane in self._tab_ends if offset is not None and offset.x < end), None)
        if lane:
            self.post_message(self.Chosen(lane))
