"""The lines on top: the headline, and the lanes as tabs where there is room for one only."""

from collections.abc import Mapping

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import Static

from ralph.app.board.view import LANES, View
from ralph.faces.board_words import LANE_NAMES, headline
from ralph.faces.glyphs import Glyphs
from ralph.faces.tui.colors import FAINT, TONES, lane_color

BAR = 20  # cells


class Headline(Static):
    """Where, what runs, how much is done, what it cost, how long."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="headline", markup=False)
        self._glyphs = glyphs
        self._told: object = None

    def show(self, view: View, now: float, problem: str) -> None:
        """Drawn again when a word of it changed."""
        place, running, done, *more = headline(view, now)
        told = (place, running, done, *more, problem, self.size.width)
        if told == self._told:
            return
        self._told = told
        text = Text(no_wrap=True, overflow="ellipsis", end="")
        text.append("ralph", "bold").append("  ")
        dot = "*" if self._glyphs.rule.isascii() else "●"
        text.append(f"{dot} {running}", TONES["good"] if view.running else FAINT)
        text.append(f"  {place}  ", "bold")
        self._bar(text, view)
        text.append(f"  {done}")
        if problem:
            text.append(f"  {self._glyphs.warn} {problem}", TONES["bad"])
        for part in more:
            if text.cell_len + len(part) + 3 <= self.size.width:  # a half would mislead
                text.append(f" {self._glyphs.dot} {part}")
        self.update(text, layout=False)

    def _bar(self, text: Text, view: View) -> None:
        total = len(view.cards) - view.count("cancelled")
        if total and self.size.width >= 100:
            full = BAR * view.count("done") // total
            text.append(self._glyphs.rule * full, TONES["good"]).append(self._glyphs.rule * (BAR - full), "#39424f")


class Tabs(Static):
    """Each lane with its count; a click goes there."""

    class Chosen(Message):
        """A lane was clicked."""

        def __init__(self, lane: str) -> None:
            super().__init__()
            self.lane = lane

    def __init__(self) -> None:
        super().__init__(id="tabs", markup=False)
        self._told: object = None
        self._ends: list[tuple[int, str]] = []

    def show(self, counts: Mapping[str, int], current: str) -> None:
        """Drawn again when a count or the lane changed."""
        told = (dict(counts), current, self.size.width)
        if told == self._told:
            return
        self._told = told
        labels = {lane: f" {LANE_NAMES[lane]} {counts[lane]} " for lane in LANES}
        if sum(map(len, labels.values())) > self.size.width:  # no room for all: the one that is seen
            labels = {current: f" {LANE_NAMES[current]} {counts[current]} ({LANES.index(current) + 1}/{len(LANES)}) "}
        text, self._ends, end = Text(no_wrap=True, overflow="crop", end=""), [], 0
        for lane, label in labels.items():
            text.append(label, f"reverse bold {lane_color(lane)}" if lane == current else lane_color(lane))
            end += len(label)
            self._ends.append((end, lane))
        self.update(text, layout=False)

    def on_click(self, event: events.Click) -> None:
        """The lane under the mouse."""
        offset = event.get_content_offset(self)
        lane = next((lane for end, lane in self._ends if offset is not None and offset.x < end), None)
        if lane:
            self.post_message(self.Chosen(lane))
