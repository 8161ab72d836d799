"""One lane of the board: its cards, the most urgent on top."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style

from ralph.app.board.view import BoardView, CardFacts
from ralph.faces.board_words import LANE_TITLES, CardState, describe_card_state, format_card_facts
from ralph.faces.glyphs import Glyphs
from ralph.faces.tui.board_lane import BoardLane, align_both_ends
from ralph.faces.tui.colors import BOLD_STYLE, FAINT_STYLE, PLAIN_STYLE, SURFACE_STYLE, TONE_STYLES, get_lane_color
from ralph.faces.tui.rows import StyledParts
from ralph.model.board import TaskCard

MIN_DETAILED_LANE_LINES = 12  # below that, what runs has one line only
WITHOUT_FACTS = CardFacts()


class Lane(BoardLane):
    """One lane. A card shows its id, title and a rule; below them what its agent does, what it came to so far and what
    is wrong. Where all cards of a lane fit, those that rest show what they came to as well."""

    def __init__(self, name: str, glyphs: Glyphs) -> None:
        super().__init__(name, glyphs)
        self._color = Style(color=get_lane_color(name))
        self._cards: Sequence[TaskCard] = ()
        self._view = BoardView()
        self._shows_all_facts = False
        self._update_border_title()

    @property
    def selected_card(self) -> TaskCard | None:
        return self._cards[self.cursor] if self._cards else None

    @property
    def card_count(self) -> int:
        return len(self._cards)

    def list_runs_at_work(self) -> Sequence[str]:
        return () if self.lane_name in ("todo", "done") else [card.worker for card in self._cards if card.worker]

    def show_cards(self, cards: Sequence[TaskCard], view: BoardView) -> None:
        """Only what changed is drawn again."""
        before, self._view = self._view, view
        if cards != self._cards or _list_details(view) != _list_details(before):
            self._cards = cards
            self._update_border_title()
            self.update_cards()

    def update_cards(self) -> None:
        self._card_lines.clear()
        room, lines = self.get_room(), self.size.height
        self._shows_all_facts = len(self._cards) * 4 <= lines  # else they surely do not fit
        heights = [self._measure_card(card, room) for card in self._cards]
        if self._shows_all_facts and sum(heights) > lines:
            self._shows_all_facts = False
            heights = [self._measure_card(card, room) for card in self._cards]
        self.set_items([card.id for card in self._cards], heights)

    def build_card(self, index: int, room: int) -> Sequence[StyledParts]:
        """Lines of a card, from the top: id and state, title, rule, state or reason, facts, activity, failure, gap."""
        card = self._cards[index]
        state = describe_card_state(card, self._view, self._glyphs)
        below = self._render_below(card, state, room)
        above_ground = SURFACE_STYLE
        mark = (self._bar, above_ground + self._style_of_state(state)) if below else (" ", above_ground)
        title_style = FAINT_STYLE if state.tone in ("done", "cancelled") else PLAIN_STYLE
        lines: list[StyledParts] = [[mark, *self._render_name_and_state(card, state, room)]]
        lines += [[mark, (line, above_ground + title_style)] for line in self.wrap(card.title, room)]
        ground = above_ground if below else PLAIN_STYLE  # where nothing follows, the rule parts cards
        rule_mark = mark if below else (" ", ground)
        lines.append([rule_mark, (self._thin * room, ground + FAINT_STYLE), (" ", ground)])
        lines += [[mark, (text, above_ground + style)] for text, style in below]
        return lines

    def _render_below(self, card: TaskCard, state: CardState, room: int) -> list[tuple[str, Style]]:
        text = state.text if state.tone == "running" else state.reason
        found = [(line, self._style_of_state(state)) for line in (self.wrap(text, room) if text else [])]
        if not self._has_details(card, state):
            return found
        facts = self._view.facts.get(card.id, WITHOUT_FACTS)
        if words := format_card_facts(facts, self._glyphs, room):
            found.append((words, FAINT_STYLE))
        if state.tone == "running":
            found.append((self.cut(self._activities.get(card.worker, ""), room), TONE_STYLES["tool"]))
            failure = self.wrap(f"{self._glyphs.bad} {facts.failure}", room) if facts.failure else []
            found += [(line, TONE_STYLES["bad"]) for line in failure]
        elif state.tone == "trouble" and facts.failure and facts.failure not in text:
            found.append((self.cut(facts.failure, room), FAINT_STYLE))
        return found

    def _has_details(self, card: TaskCard, state: CardState) -> bool:
        if state.tone in ("running", "trouble"):
            return self.size.height >= MIN_DETAILED_LANE_LINES
        return self._shows_all_facts and card.id in self._view.facts

    def _has_reason(self, card: TaskCard) -> bool:
        view = self._view
        return card.id in view.reasons or card.id in view.questions or card.id in view.paused

    def _render_name_and_state(self, card: TaskCard, state: CardState, room: int) -> StyledParts:
        name = self.cut(card.id, room)
        left = room - cell_len(name) - 1
        texts = () if state.tone == "running" else (state.text, state.short_text)
        text = next((text for text in texts if cell_len(text) <= left), "")
        style = self._color + BOLD_STYLE
        return align_both_ends(
            name, text, room, left_style=style, right_style=TONE_STYLES[state.tone], ground=SURFACE_STYLE
        )

    def _style_of_state(self, state: CardState) -> Style:
        return self._color + BOLD_STYLE if state.tone == "running" else TONE_STYLES[state.tone]

    def _measure_card(self, card: TaskCard, room: int) -> int:
        """Of a card that only waits or is done without being looked at: there may be thousands."""
        fits = len(card.title) <= room and card.title.isascii()
        above = 2 + (1 if fits else len(self.wrap(card.title, room)))
        is_resting = card.status != "in_progress" and not self._has_reason(card)
        if is_resting and not (self._shows_all_facts and card.id in self._view.facts):
            return above
        below = self._render_below(card, describe_card_state(card, self._view, self._glyphs), room)
        return above + len(below) + (1 if below else 0)

    def _update_border_title(self) -> None:
        self.border_title = f"{LANE_TITLES[self.lane_name]} {len(self._cards)}"


def _list_details(view: BoardView) -> tuple[object, ...]:
    """What a card shows besides its own fields."""
    return (view.waits_for, view.reasons, view.orphaned, view.facts, view.paused, view.questions)
