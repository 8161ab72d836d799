"""One lane of the board: its cards, the most urgent on top."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style

from ralph.app.board.view import View
from ralph.core.text.plain import one_line, wrapped
from ralph.faces.board_words import LANE_NAMES, State, state_of
from ralph.faces.glyphs import Glyphs
from ralph.faces.tui.colors import BOLD, FAINT, PLAIN, SURFACE, TONES, lane_color
from ralph.faces.tui.rows import Parts, Rows
from ralph.model.board import Card

MOST_LINES = 2  # of a title, or of a reason
LONGEST = 200  # cells of either that are looked at


class Lane(Rows):
    """A card is its id, its title and a rule; below that stands what goes on, or what is wrong."""

    def __init__(self, name: str, glyphs: Glyphs) -> None:
        super().__init__(f"lane-{name}")
        self.lane = name
        self._glyphs = glyphs
        self._thin, self._bar = ("-", "|") if glyphs.rule.isascii() else ("─", "▌")
        self._color = Style(color=lane_color(name))
        self._cards: Sequence[Card] = ()
        self._view = View()
        self._entitle()

    @property
    def card(self) -> Card | None:
        """Under the cursor."""
        return self._cards[self.cursor] if self._cards else None

    @property
    def count(self) -> int:
        """How many cards."""
        return len(self._cards)

    def show(self, cards: Sequence[Card], view: View) -> None:
        """Only what changed is drawn again."""
        before, self._view = self._view, view
        told = (view.waits, view.remarks, view.cut_off)
        if cards != self._cards or told != (before.waits, before.remarks, before.cut_off):
            self._cards = cards
            self._entitle()
            self._put_cards()

    def on_resize(self) -> None:
        """A title may take more lines now, or fewer."""
        self._put_cards()
        super().on_resize()

    def drawn(self, index: int, part: int, width: int) -> Parts:
        """Id and state, title, rule, what goes on, and a gap."""
        card, room = self._cards[index], max(0, width - 2)
        state = state_of(card, self._view, self._glyphs)
        title, below = self._wrapped(card.title, room), self._below(state, room)
        rule = len(title) + 1
        ground = SURFACE if part < rule or below else PLAIN  # where nothing follows, the rule parts cards
        mark = (self._bar, ground + self._tone(state)) if below else (" ", ground)
        if part == 0:
            return [mark, *self._name_and_state(card, state, room, ground)]
        if part < rule:
            return [mark, (title[part - 1], ground + (FAINT if state.tone in ("done", "cancelled") else PLAIN))]
        if part == rule:
            return [mark, (self._thin * room, ground + FAINT), (" ", ground)]
        if part <= rule + len(below):
            return [mark, (below[part - rule - 1], ground + self._tone(state))]
        return []

    def _name_and_state(self, card: Card, state: State, room: int, ground: Style) -> Parts:
        name = one_line(card.id, room, self._glyphs.ellipsis)
        left = room - cell_len(name) - 1
        texts = () if state.tone == "running" else (state.text, state.short)
        text = next((text for text in texts if cell_len(text) <= left), "")
        gap = " " * max(0, room - cell_len(name) - cell_len(text))
        return [(name, ground + self._color + BOLD), (gap, ground), (text, ground + TONES[state.tone])]

    def _tone(self, state: State) -> Style:
        return self._color + BOLD if state.tone == "running" else TONES[state.tone]

    def _below(self, state: State, room: int) -> list[str]:
        text = state.text if state.tone == "running" else state.why
        return self._wrapped(text, room) if text else []

    def _wrapped(self, text: str, room: int) -> list[str]:
        if room < 1:
            return [""]
        lines = wrapped(one_line(text, LONGEST, self._glyphs.ellipsis), room)
        if len(lines) > MOST_LINES:
            lines[MOST_LINES - 1] = one_line(" ".join(lines[MOST_LINES - 1 :]), room, self._glyphs.ellipsis)
        return lines[:MOST_LINES]

    def _put_cards(self) -> None:
        room = max(0, self.scrollable_content_region.width - 2)
        self.put([card.id for card in self._cards], [self._height(card, room) for card in self._cards])

    def _height(self, card: Card, room: int) -> int:
        fits = len(card.title) <= room and card.title.isascii()
        above = 2 + (1 if fits else len(self._wrapped(card.title, room)))
        if card.status != "in_progress" and card.id not in self._view.remarks:
            return above
        return above + len(self._below(state_of(card, self._view, self._glyphs), room)) + 1

    def _entitle(self) -> None:
        self.border_title = f"{LANE_NAMES[self.lane]} {len(self._cards)}"
