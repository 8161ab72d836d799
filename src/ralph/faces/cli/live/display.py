"""A run as it is watched: events in, lines out, one write a call."""

from collections.abc import Callable, Sequence
from typing import Any

from ralph.core.text.plain import plain
from ralph.faces.cli.live.agent_lines import AgentLines
from ralph.faces.cli.live.loop_lines import LoopLines
from ralph.faces.cli.live.status_line import Progress
from ralph.faces.cli.live.summary import Rows, summary_table
from ralph.faces.cli.terminal.look import NARROWEST, Look
from ralph.faces.clock import clock
from ralph.model.events import (
    AgentEnded,
    Committed,
    Debugged,
    Event,
    GateEnded,
    GateStarted,
    IterationStarted,
    RunEnded,
    RunStarted,
    Waiting,
    Warned,
)

DEBUG = "[ralph] "


class Display:
    """A Watcher. `out` and `err` take text and never raise; `columns` tells a terminal's width of the moment."""

    def __init__(
        self,
        look: Look,
        out: Callable[[str], object],
        err: Callable[[str], object],
        columns: Callable[[], int] | None = None,
    ) -> None:
        self._look = look
        self._out = out
        self._err = err
        self._columns = columns
        self._agent = AgentLines(look)
        self._loop = LoopLines(look)
        self._rows = Rows()
        self._progress = Progress(look) if look.progress else None
        self._at = 0.0
        self._second = -1
        self._stamp = ""
        self._shown: list[str] = []
        silent = dict.fromkeys(self._agent.renders, _nothing)
        self._renders: dict[type, Callable[[Any], str]] = {
            **(self._agent.renders if look.stream_agent_output else silent),
            RunStarted: self._run_started,
            IterationStarted: self._iteration_started,
            AgentEnded: self._kept(self._loop.agent_ended),
            GateStarted: self._kept(self._loop.gate_started),
            GateEnded: self._kept(self._loop.gate_ended),
            Committed: self._kept(self._loop.committed),
            Waiting: self._waiting,
            Warned: self._loop.warned,
            Debugged: self._debugged,
            RunEnded: self._run_ended,
        }

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        """Show what became known at one time."""
        self._at = at
        for event in events:
            if text := self._renders[type(event)](event):
                self._shown.append(text)
        if self._progress is not None:
            self._progress.hear(at, events)
        self._flush()

    def tick(self, now: float) -> None:
        """Time goes by: called as often as one likes, the bottom line is renewed four times a second."""
        if self._progress is not None and self._progress.due(now):
            self._at = now
            self._out(self._progress.erased() + self._renewed(self._progress))

    def close(self) -> None:
        """Leave nothing at the bottom of the terminal."""
        if self._progress is not None:
            self._out(self._progress.erased())
            self._progress = None

    def _flush(self) -> None:
        progress, shown = self._progress, self._shown
        if not shown:
            return
        text = "\n".join(shown)
        shown.clear()
        if self._look.timestamps:
            stamp = self._stamped()
            text = stamp + text.replace("\n", "\n" + stamp)
        if progress is None:
            self._out(text + "\n")
        else:
            self._out(f"{progress.erased()}{text}\n{self._renewed(progress)}")

    def _renewed(self, progress: Progress) -> str:
        if progress.due(self._at):
            progress.compose(self._at, self._resized() - 1)  # in the last column some terminals wrap
        return progress.drawn()

    def _resized(self) -> int:
        if self._columns is None:
            return self._look.width
        width = self._columns()
        self._agent.resized(max(NARROWEST, width))
        return width  # the true one: of a line that the terminal breaks only the last part could be erased

    def _stamped(self) -> str:
        second = int(self._at)
        if second != self._second:
            paint = self._look.paint
            self._second, self._stamp = second, f"{paint.dim}[{clock('%H:%M:%S', self._at)}]{paint.off} "
        return self._stamp

    def _kept(self, render: Callable[[Any], str]) -> Callable[[Any], str]:
        def kept(event: Event) -> str:
            self._rows.hear(event, self._at)
            return render(event)

        return kept

    def _run_started(self, event: RunStarted) -> str:
        self._rows.clear()
        self._agent.run_began()
        return self._loop.run_started(event)

    def _iteration_started(self, event: IterationStarted) -> str:
        self._rows.hear(event, self._at)
        self._agent.agent_began()
        return self._loop.iteration_started(event)

    def _waiting(self, event: Waiting) -> str:
        return self._loop.waiting(event, self._at)

    def _run_ended(self, event: RunEnded) -> str:
        self._rows.hear(event, self._at)
        table = summary_table(self._rows.all(), self._look)
        above = "" if self._look.timestamps else "\n"
        return f"{above}{table}\n{self._loop.run_ended(event)}" if table else self._loop.run_ended(event)

    def _debugged(self, event: Debugged) -> str:
        if self._look.verbose:
            self._flush()  # what came before stands before it
            text = DEBUG + plain(event.text).replace("\n", "\n" + DEBUG) + "\n"
            if self._progress is not None:
                self._out(self._progress.erased())
            self._err(text)
            if self._progress is not None:
                self._out(self._progress.drawn())
        return ""


def _nothing(_: object) -> str:
    return ""
