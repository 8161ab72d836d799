"""Several tasks at once on a terminal: what happened goes by, and below it stands a line for each at work."""

import threading
from collections.abc import Callable, Sequence

from ralph.core.text.plain import fitted
from ralph.faces.cli.live.status_line import PERIOD, Progress
from ralph.faces.cli.terminal.look import Look
from ralph.faces.cli.terminal.output import Output
from ralph.model.events import Event, IterationStarted, RunEnded

WIDEST = 500  # cells, before it is cut to the terminal


class TaskLines:
    """Renewed with every event, and as time goes by. Whoever calls `hear` or `put` holds the lock."""

    def __init__(self, look: Look, out: Output, lock: threading.Lock, clock: Callable[[], float]) -> None:
        self._look, self._out, self._lock, self._clock = look, out, lock, clock
        self._at_work: dict[str, Progress] = {}
        self._roles: dict[str, str] = {}
        self._drawn = 0  # lines
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="task-lines", daemon=True)
        self._ticker.start()

    def hear(self, task: str, at: float, events: Sequence[Event]) -> None:
        """Keep up with one task; one that has ended has no line any more."""
        self._at_work.setdefault(task, Progress(self._look)).hear(at, events)
        for event in events:
            if isinstance(event, IterationStarted):
                self._roles[task] = event.about.removesuffix(task).strip()
            elif isinstance(event, RunEnded):
                self._at_work.pop(task, None)

    def put(self, text: str) -> None:
        """Show text, and the lines below it."""
        self._out(self._erased() + text + self._lines())

    def let_be(self) -> None:
        """Someone is about to write below the lines: what stands there stays. From a signal handler: no lock."""
        self._drawn = 0

    def close(self) -> None:
        """Leave nothing at the bottom."""
        self._over.set()
        self._ticker.join()
        self._at_work.clear()
        with self._lock:
            self.put("")

    def _tick(self) -> None:
        while not self._over.wait(2 * PERIOD):
            with self._lock:
                self.put("")

    def _erased(self) -> str:
        return "\r\x1b[K" + "\x1b[A\x1b[K" * (self._drawn - 1) if self._drawn else ""

    def _lines(self) -> str:
        width = self._out.columns() - 1  # in the last column some terminals wrap
        shown = [fitted(self._line(task), width, self._look.glyphs.ellipsis) for task in sorted(self._at_work)]
        self._drawn = len(shown)
        paint = self._look.paint
        return "\n".join(f"{paint.dim}{line}{paint.off}" for line in shown)

    def _line(self, task: str) -> str:
        progress = self._at_work[task]
        progress.compose(self._clock(), WIDEST)
        return f"{task}  {self._roles.get(task, '')}  {progress.line}"
