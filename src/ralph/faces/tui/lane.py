"""One lane of the board: its cards, the most urgent on top."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style

from ralph.app.board.view import BoardView
from ralph.core.text.plain import one_line, wrap_text
from ralph.faces.board_words import LANE_TITLES, CardState, describe_card_state
from ralph.faces.glyphs import Glyphs
from ralph.faces.tui.colors import BOLD_STYLE, FAINT_STYLE, PLAIN_STYLE, SURFACE_STYLE, TONE_STYLES, get_lane_color
from ralph.faces.tui.rows import ItemList, StyledParts
from ralph.model.board import TaskCard

MAX_WRAPPED_LINES = 2  # of a title, or of a reason
MAX_CARD_TEXT_CELLS = 200  # cells of either that are looked at


class Lane(ItemList):
    """One lane. A card shows its id, title and a rule; below them what its agent does, or what is wrong."""

    def __init__(self, name: str, glyphs: Glyphs) -> None:
        super().__init__(f"lane-{name}")
        self.lane_name = name
        self._glyphs = glyphs
        self._thin, self._bar = ("-", "|") if glyphs.rule.isascii() else ("─", "▌")
        self._color = Style(color=get_lane_color(name))
        self._cards: Sequence[TaskCard] = ()
        self._view = BoardView()
        self._update_border_title()

    @property
    def selected_card(self) -> TaskCard | None:
        return self._cards[self.cursor] if self._cards else None

    @property
    def card_count(self) -> int:
        return len(self._cards)

    def show_cards(self, cards: Sequence[TaskCard], view: BoardView) -> None:
        """Only what changed is drawn again."""
        before, self._view = self._view, view
        details = (view.waits_for, view.reasons, view.orphaned)
        if cards != self._cards or details != (before.waits_for, before.reasons, before.orphaned):
            self._cards = cards
            self._update_border_title()
            self._set_cards()

    def on_resize(self) -> None:
        """A title may take more lines now, or fewer."""
        self._set_cards()
        super().on_resize()

    def render_item_line(self, index: int, part: int, width: int) -> StyledParts:
        """Lines of a card, from the top: id and state, title, rule, status or reason, gap."""
        card, room = self._cards[index], max(0, width - 2)
        state = describe_card_state(card, self._view, self._glyphs)
        title, below = self._wrap_text(card.title, room), self._wrap_status(state, room)
        rule = len(title) + 1
        ground = SURFACE_STYLE if part < rule or below else PLAIN_STYLE  # where nothing follows, the rule parts cards
        mark = (self._bar, ground + self._style_of_state(state)) if below else (" ", ground)
        if part == 0:
            return [mark, *self._render_name_and_state(card, state, room, ground)]
        if part < rule:
            return [
                mark,
                (title[part - 1], ground + (FAINT_STYLE if state.tone in ("done", "cancelled") else PLAIN_STYLE)),
            ]
        if part == rule:
            return [mark, (self._thin * room, ground + FAINT_STYLE), (" ", ground)]
        if part <= rule + len(below):
            return [mark, (below[part - rule - 1], ground + self._style_of_state(state))]
        return []

    def _render_name_and_state(self, card: TaskCard, state: CardState, room: int, ground: Style) -> StyledParts:
        name = one_line(card.id, room, self._glyphs.ellipsis)
        left = room - cell_len(name) - 1
        texts = () if state.tone == "running" else (state.text, state.short_text)
        text = next((text for text in texts if cell_len(text) <= left), "")
        gap = " " * max(0, room - cell_len(name) - cell_len(text))
        return [(name, ground + self._color + BOLD_STYLE), (gap, ground), (text, ground + TONE_STYLES[state.tone])]

    def _style_of_state(self, state: CardState) -> Style:
        return self._color + BOLD_STYLE if state.tone == "running" else TONE_STYLES[state.tone]

    def _wrap_status(self, state: CardState, room: int) -> list[str]:
        text = state.text if state.tone == "running" else state.reason
        return self._wrap_text(text, room) if text else []

    def _wrap_text(self, text: str, room: int) -> list[str]:
        if room < 1:
            return [""]
        lines = wrap_text(one_line(text, MAX_CARD_TEXT_CELLS, self._glyphs.ellipsis), room)
        if len(lines) > MAX_WRAPPED_LINES:
            lines[MAX_WRAPPED_LINES - 1] = one_line(
                " ".join(lines[MAX_WRAPPED_LINES - 1 :]), room, self._glyphs.ellipsis
            )
        return lines[:MAX_WRAPPED_LINES]

    def _set_cards(self) -> None:
        room = max(0, self.scrollable_content_region.width - 2)
        self.set_items([card.id for card in self._cards], [self._measure_card(card, room) for card in self._cards])

    def _measure_card(self, card: TaskCard, room: int) -> int:
        fits = len(card.title) <= room and card.title.isascii()
        above = 2 + (1 if fits else len(self._wrap_text(card.title, room)))
        if card.status != "in_progress" and card.id not in self._view.reasons:
            return above
        return above + len(self._wrap_status(describe_card_state(card, self._view, self._glyphs), room)) + 1

    def _update_border_title(self) -> None:
        self.border_title = f"{LANE_TITLES[self.lane_name]} {len(self._cards)}"
