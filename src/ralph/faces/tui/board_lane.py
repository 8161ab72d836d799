"""What lanes of tasks and of runs share: a card is laid out when it is seen, and again when something changes."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.style import Style

from ralph.core.text.plain import one_line, wrap_text
from ralph.faces.glyphs import Glyphs
from ralph.faces.tui.rows import ItemList, StyledParts

MAX_WRAPPED_LINES = 2  # of a title, or of a reason
MAX_CARD_TEXT_CELLS = 200  # cells of either that are looked at


class BoardLane(ItemList):
    """A list of cards under a title with their number."""

    def __init__(self, name: str, glyphs: Glyphs) -> None:
        super().__init__(f"lane-{name}")
        self.lane_name = name
        self._glyphs = glyphs
        self._thin, self._bar = ("-", "|") if glyphs.rule.isascii() else ("─", "▌")
        self._card_lines: dict[tuple[int, int], Sequence[StyledParts]] = {}
        self._activities: Mapping[str, str] = {}

    @property
    def card_count(self) -> int:
        """How many cards are shown."""
        return 0

    def list_runs_at_work(self) -> Sequence[str]:
        """For subclasses: those whose activity is shown on a card."""
        return ()

    def build_card(self, index: int, room: int) -> Sequence[StyledParts]:
        """For subclasses: all lines of one card in so many cells, a bar and the text each."""
        return []

    def update_cards(self) -> None:
        """For subclasses: measure again."""

    def show_activities(self, activities: Mapping[str, str]) -> None:
        """What the agents on these cards do now; drawn again only if that is another."""
        shown = {run: activities.get(run, "") for run in self.list_runs_at_work()}
        if shown != self._activities:
            self._activities = shown
            self._card_lines.clear()
            self.refresh()

    def on_resize(self) -> None:
        """A title may take more lines now, or fewer."""
        self._card_lines.clear()
        self.update_cards()
        super().on_resize()

    def get_room(self) -> int:
        return max(0, self.scrollable_content_region.width - 2)

    def render_item_line(self, index: int, part: int, width: int) -> StyledParts:
        lines = self._card_lines.get((index, width))
        if lines is None:
            lines = self._card_lines[(index, width)] = self.build_card(index, max(0, width - 2))
        return lines[part] if part < len(lines) else []

    def wrap(self, text: str, room: int) -> list[str]:
        """Two lines at most; a cut shows."""
        if room < 1:
            return [""]
        lines = wrap_text(one_line(text, MAX_CARD_TEXT_CELLS, self._glyphs.ellipsis), room)
        if len(lines) > MAX_WRAPPED_LINES:
            rest = " ".join(lines[MAX_WRAPPED_LINES - 1 :])
            lines[MAX_WRAPPED_LINES - 1] = one_line(rest, room, self._glyphs.ellipsis)
        return lines[:MAX_WRAPPED_LINES]

    def cut(self, text: str, room: int) -> str:
        return one_line(text, room, self._glyphs.ellipsis)


def align_both_ends(
    left: str, right: str, room: int, *, left_style: Style, right_style: Style, ground: Style
) -> StyledParts:
    """One at the left, the other at the right end."""
    gap = " " * max(0, room - cell_len(left) - cell_len(right))
    return [(left, ground + left_style), (gap, ground), (right, ground + right_style)]
