"""What became of the iterations so far, a sign each: ✗✗✓."""

from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.model.events import AgentEnded, Event, GateEnded, IterationStarted, RunStarted

MAX_LINE_MARKS = 20


class IterationStrip:
    """A failed check or an agent that did not finish is a failure; where nothing was checked, nothing is claimed."""

    def __init__(self, style: TerminalStyle) -> None:
        self._style = style
        self._ended: list[str] = []
        self._current = ""

    def handle_event(self, event: Event) -> None:
        glyphs = self._style.glyphs
        match event:
            case RunStarted():
                self._ended, self._current = [], ""
            case IterationStarted():
                self._ended = [*self._ended, self._current][-MAX_LINE_MARKS - 1 :] if self._current else self._ended
                self._current = glyphs.dot
            case AgentEnded(outcome=outcome) if outcome not in ("finished", "refused"):
                self._current = glyphs.strip_bad
            case GateEnded(passed=passed):
                self._current = glyphs.strip_bad if not passed else self._current.replace(glyphs.dot, glyphs.strip_ok)
            case _:
                pass

    def render_marks(self, width: int) -> str:
        """The signs of iterations that ended, in no more than a quarter of the width; the oldest go first."""
        most = min(MAX_LINE_MARKS, width // 4)
        is_cut = len(self._ended) > most
        return (self._style.glyphs.ellipsis if is_cut else "") + "".join(self._ended[-most:] if most else [])

    def paint_marks(self, marks: str) -> str:
        glyphs, paint = self._style.glyphs, self._style.palette
        tints = {glyphs.strip_ok: paint.green, glyphs.strip_bad: paint.red}
        return "".join(f"{tints.get(mark, paint.dim)}{mark}{paint.off}" for mark in marks)
