"""Several tasks at once on a terminal: what happened goes by, and below it stands a line for each at work."""

import threading
from collections.abc import Callable, Sequence

from ralph.core.text.plain import truncate_cells
from ralph.faces.cli.live.status_line import STATUS_LINE_SECONDS, StatusLine
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.cli.terminal.output import Output
from ralph.model.events import Event, RunEnded

MAX_TASK_LINE_CELLS = 500  # cells, before it is cut to the terminal


class TaskStatusLines:
    """Status lines of all running tasks, redrawn with every event and twice a second. Callers of `handle_events`
    and `write_above` hold the lock."""

    def __init__(self, style: TerminalStyle, out: Output, lock: threading.Lock, clock: Callable[[], float]) -> None:
        self._style, self._out, self._lock, self._clock = style, out, lock, clock
        self._status_lines: dict[str, StatusLine] = {}
        self._drawn_count = 0  # lines
        self._closed = threading.Event()
        self._ticker = threading.Thread(target=self._redraw_periodically, name="task-lines", daemon=True)
        self._ticker.start()

    def handle_events(self, task: str, at: float, events: Sequence[Event]) -> None:
        """Updates one task's line; the line goes when its run ends."""
        self._status_lines.setdefault(task, StatusLine(self._style)).handle_events(at, events)
        if any(isinstance(event, RunEnded) for event in events):
            self._status_lines.pop(task, None)

    def write_above(self, text: str) -> None:
        """Write text, and the status lines below it."""
        self._out(self._render_erasure() + text + self._render_lines())

    def leave_lines(self) -> None:
        """Forget the drawn lines, so that what is written below them next is not erased. For signal handlers: takes
        no lock."""
        self._drawn_count = 0

    def close(self) -> None:
        self._closed.set()
        self._ticker.join()
        self._status_lines.clear()
        with self._lock:
            self.write_above("")

    def _redraw_periodically(self) -> None:
        while not self._closed.wait(2 * STATUS_LINE_SECONDS):
            with self._lock:
                self.write_above("")

    def _render_erasure(self) -> str:
        return "\r\x1b[K" + "\x1b[A\x1b[K" * (self._drawn_count - 1) if self._drawn_count else ""

    def _render_lines(self) -> str:
        width = self._out.read_width() - 1  # in the last column some terminals wrap
        shown = [
            truncate_cells(self._render_task_line(task), width, self._style.glyphs.ellipsis)
            for task in sorted(self._status_lines)
        ]
        self._drawn_count = len(shown)
        paint = self._style.palette
        return "\n".join(f"{paint.dim}{line}{paint.off}" for line in shown)

    def _render_task_line(self, task: str) -> str:
        progress = self._status_lines[task]
        progress.compose_line(self._clock(), MAX_TASK_LINE_CELLS)
        return f"{task}  {progress.line}"
