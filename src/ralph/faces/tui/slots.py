"""The agent panel: a slot for every worker."""

import time
from collections.abc import Mapping, Sequence

from rich.style import Style

from ralph.app.board.view import Slot
from ralph.core.text.plain import fitted, plain
from ralph.faces.board_words import slot_lines
from ralph.faces.glyphs import Glyphs
from ralph.faces.tui.colors import FAINT, PLAIN, lane_color
from ralph.faces.tui.rows import Parts, Rows

FEW = 2  # slots that stand in one column
BROAD = 60  # cells where two columns have room
HEIGHT = 6  # role, task, iteration, time, what it does now, and a gap


class Slots(Rows):
    """Each tells role, task, iteration and time, and what its agent does at this moment."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__("slots")
        self.border_title = "Agents"
        self._glyphs = glyphs
        self._slots: Sequence[Slot] = ()
        self._doing: Mapping[str, str] = {}
        self._drawn: object = None

    @property
    def slot(self) -> Slot | None:
        """Under the cursor; None for an idle one, too."""
        slot = self._slots[self.cursor] if self._slots else None
        return slot if slot and slot.run else None

    def show(self, slots: Sequence[Slot], doing: Mapping[str, str]) -> None:
        """Only what changed is drawn again; time goes by, too."""
        at_work = {slot.run: doing.get(slot.run, "") for slot in slots if slot.run}
        columns = 2 if len(slots) > FEW and self.size.width >= BROAD else 1
        drawn = (slots, at_work, columns, int(time.time()) if at_work else 0)
        if drawn == self._drawn:
            return
        self.border_title = f"Agents {len(at_work)}" if slots else "Agents"
        self.set_class(len(slots) > FEW, "many")
        self._drawn, self._slots, self._doing, self.columns = drawn, slots, at_work, columns
        self.put([str(slot.number) for slot in slots], [HEIGHT] * len(slots))

    def drawn(self, index: int, part: int, width: int) -> Parts:
        """One line of a slot."""
        slot = self._slots[index]
        lines = [*slot_lines(slot, time.time()), *self._now(slot)]
        if part >= len(lines):
            return []
        line = fitted(plain(lines[part]), max(0, width - 2), self._glyphs.ellipsis)
        return [(" ", PLAIN), (line, self._style(slot, part))]

    def _now(self, slot: Slot) -> list[str]:
        doing = self._doing.get(slot.run, "")
        return [f"  {doing}"] if doing else []

    def _style(self, slot: Slot, part: int) -> Style:
        if not slot.run:
            return FAINT
        return PLAIN if 0 < part < HEIGHT - 2 else Style(color=lane_color(slot.role), bold=part == 0)
