"""The lane of runs without tasks: `ralph run`, `ralph story run`, `ralph supervise`."""

import time
from collections.abc import Collection, Sequence

from rich.cells import cell_len
from rich.style import Style

from ralph.app.board.run_cards import RunCard
from ralph.core.text.plain import one_line
from ralph.faces.board_words import CardState
from ralph.faces.glyphs import Glyphs
from ralph.faces.run_words import (
    STRIP_TONES,
    describe_activity,
    describe_run_state,
    format_checks,
    format_run_facts,
    render_strip,
)
from ralph.faces.tui.board_lane import MAX_CARD_TEXT_CELLS, BoardLane, align_both_ends
from ralph.faces.tui.colors import BOLD_STYLE, FAINT_STYLE, PLAIN_STYLE, SURFACE_STYLE, TONE_STYLES, get_lane_color
from ralph.faces.tui.rows import StyledParts

RUN_LANE = "runs"
RUN_LANE_TITLE = "Runs"
MAX_DRAWN_MARKS = 40


class RunLane(BoardLane):
    """A card shows the strip of iterations, the title, what the run came to, its checks, and what it does now or why it
    ended."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(RUN_LANE, glyphs)
        self._color = Style(color=get_lane_color(RUN_LANE))
        self._cards: Sequence[RunCard] = ()
        self._cut_off: Collection[str] = ()
        self._second = 0
        self.border_title = RUN_LANE_TITLE

    @property
    def selected_card(self) -> RunCard | None:
        return self._cards[self.cursor] if self._cards else None

    @property
    def card_count(self) -> int:
        return len(self._cards)

    def list_runs_at_work(self) -> Sequence[str]:
        return [card.id for card in self._cards if self._is_at_work(card)]

    def show_runs(self, cards: Sequence[RunCard], cut_off: Collection[str]) -> None:
        """Drawn again where something changed; running times change every second."""
        second = int(time.time()) if any(map(self._is_at_work, cards)) else 0
        if (cards, cut_off, second) == (self._cards, self._cut_off, self._second):
            return
        self._cards, self._cut_off, self._second = cards, cut_off, second
        self.border_title = f"{RUN_LANE_TITLE} {len(cards)}"
        self.update_cards()

    def update_cards(self) -> None:
        self._card_lines.clear()
        room = self.get_room()
        heights = [len(self.build_card(index, room)) + 1 for index in range(len(self._cards))]
        self.set_items([card.id for card in self._cards], heights)

    def build_card(self, index: int, room: int) -> Sequence[StyledParts]:
        card = self._cards[index]
        state = describe_run_state(card, card.id in self._cut_off, self._glyphs)
        mark = (self._bar, SURFACE_STYLE + self._style_of_state(state))
        title = one_line(card.title or card.id, MAX_CARD_TEXT_CELLS, self._glyphs.ellipsis)
        name = f"{card.id}  {state.text}"
        fits_beside = len(card.strip) + cell_len(title) + cell_len(name) + 4 <= room
        title_style = BOLD_STYLE if self._is_at_work(card) else PLAIN_STYLE
        if fits_beside:
            lines = [self._render_head(card, state, room=room, title=title, right=name)]
        else:
            lines = [self._render_head(card, state, room=room, title="", right=state.text)]
            lines += [[(line, SURFACE_STYLE + title_style)] for line in self.wrap(title, room)]
        lines += [[(text, SURFACE_STYLE + style)] for text, style in self._render_below(card, state, room)]
        return [[mark, *line] for line in lines]

    def _render_head(self, card: RunCard, state: CardState, *, room: int, title: str, right: str) -> StyledParts:
        text = right if cell_len(right) < room - 4 else state.short_text
        most = max(1, min(MAX_DRAWN_MARKS, room - cell_len(text) - 1))
        marks = card.strip[-most:]
        signs = [
            (sign, SURFACE_STYLE + TONE_STYLES[STRIP_TONES[mark]] + BOLD_STYLE)
            for sign, mark in zip(render_strip(marks, self._glyphs, most), marks, strict=True)
        ]
        styles = {
            "left_style": BOLD_STYLE if self._is_at_work(card) else PLAIN_STYLE,
            "right_style": self._style_of_state(state),
        }
        left = f" {title}" if title and signs else title
        return [*signs, *align_both_ends(left, text, room - len(signs), ground=SURFACE_STYLE, **styles)]

    def _render_below(self, card: RunCard, state: CardState, room: int) -> list[tuple[str, Style]]:
        found = [(format_run_facts(card, time.time(), self._glyphs, room), FAINT_STYLE)]
        if self._is_at_work(card):
            activity = describe_activity(card, self._activities.get(card.id, ""))
            found.append((self.cut(activity, room), TONE_STYLES["tool"]))
        if card.checks:
            tone = "good" if all(passed for _, passed in card.checks) else "bad"
            found.append((self.cut(format_checks(card, self._glyphs), room), TONE_STYLES[tone]))
        if card.failure and not _repeats(card.failure, state.reason):
            found += [(line, TONE_STYLES["bad"]) for line in self.wrap(card.failure, room)]
        if state.reason:
            found += [(line, TONE_STYLES[state.tone]) for line in self.wrap(state.reason, room)]
        return found

    def _is_at_work(self, card: RunCard) -> bool:
        return card.is_active and card.id not in self._cut_off

    def _style_of_state(self, state: CardState) -> Style:
        return self._color + BOLD_STYLE if state.tone == "running" else TONE_STYLES[state.tone]


def _repeats(failure: str, reason: str) -> bool:
    """Whether the reason of the end says the same."""
    what = failure.partition(": ")[2].partition(",")[0]
    return bool(what) and what in reason
