"""The agent panel: a slot for every worker."""

import time
from collections.abc import Mapping, Sequence

from rich.style import Style

from ralph.app.board.view import WorkerSlot
from ralph.core.text.plain import sanitize, truncate_cells
from ralph.faces.board_words import render_slot_lines
from ralph.faces.glyphs import Glyphs
from ralph.faces.tui.colors import FAINT_STYLE, PLAIN_STYLE, get_lane_color
from ralph.faces.tui.rows import ItemList, StyledParts

MAX_SINGLE_COLUMN_SLOTS = 2  # slots that stand in one column
MIN_TWO_COLUMN_CELLS = 60  # cells where two columns have room
LINES_PER_SLOT = 6  # role, task, iteration, time, what it does now, and a gap


class SlotPanel(ItemList):
    """Each tells role, task, iteration and time, and what its agent does at this moment."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__("slots")
        self.border_title = "Agents"
        self._glyphs = glyphs
        self._slots: Sequence[WorkerSlot] = ()
        self._activities: Mapping[str, str] = {}
        self._last_drawn: object = None

    @property
    def selected_slot(self) -> WorkerSlot | None:
        """The slot under the cursor; None if it is idle."""
        slot = self._slots[self.cursor] if self._slots else None
        return slot if slot and slot.run else None

    def show_slots(self, slots: Sequence[WorkerSlot], doing: Mapping[str, str]) -> None:
        """Draws again only if something changed; running times change every second."""
        at_work = {slot.run: doing.get(slot.run, "") for slot in slots if slot.run}
        columns = 2 if len(slots) > MAX_SINGLE_COLUMN_SLOTS and self.size.width >= MIN_TWO_COLUMN_CELLS else 1
        drawn = (slots, at_work, columns, int(time.time()) if at_work else 0)
        if drawn == self._last_drawn:
            return
        self.border_title = f"Agents {len(at_work)}" if slots else "Agents"
        self.set_class(len(slots) > MAX_SINGLE_COLUMN_SLOTS, "many")
        self._last_drawn, self._slots, self._activities, self.column_count = drawn, slots, at_work, columns
        self.set_items([str(slot.number) for slot in slots], [LINES_PER_SLOT] * len(slots))

    def render_item_line(self, index: int, part: int, width: int) -> StyledParts:
        slot = self._slots[index]
        lines = [*render_slot_lines(slot, time.time()), *self._render_activity(slot)]
        if part >= len(lines):
            return []
        line = truncate_cells(sanitize(lines[part]), max(0, width - 2), self._glyphs.ellipsis)
        return [(" ", PLAIN_STYLE), (line, self._style_of_line(slot, part))]

    def _render_activity(self, slot: WorkerSlot) -> list[str]:
        doing = self._activities.get(slot.run, "")
        return [f"  {doing}"] if doing else []

    def _style_of_line(self, slot: WorkerSlot, part: int) -> Style:
        if not slot.run:
            return FAINT_STYLE
        return PLAIN_STYLE if 0 < part < LINES_PER_SLOT - 2 else Style(color=get_lane_color(slot.role), bold=part == 0)
