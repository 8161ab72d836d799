"""A run as it is watched: events in, lines out, one write a call."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ralph.core.text.plain import one_line, sanitize
from ralph.faces.cli.live.agent_lines import AgentEventRenderer
from ralph.faces.cli.live.loop_lines import LoopEventRenderer
from ralph.faces.cli.live.status_line import StatusLine
from ralph.faces.cli.live.summary import IterationRows, render_summary_table
from ralph.faces.cli.terminal.look import MIN_TERMINAL_WIDTH, TerminalStyle
from ralph.faces.cli.terminal.wrapping import wrap_painted
from ralph.faces.clock import format_local_time
from ralph.model.events import (
    AgentEnded,
    Committed,
    Debugged,
    Doing,
    Event,
    GateEnded,
    GateStarted,
    Hinted,
    IterationStarted,
    Paused,
    RunEnded,
    RunStarted,
    Waiting,
    Warned,
)

DEBUG_PREFIX = "[ralph] "
MAX_BELL_CELLS = 120
TIMESTAMP_CELLS = 11  # [12:34:56] and a blank
_LOOP_EVENTS = frozenset({RunStarted, AgentEnded, GateStarted, GateEnded, Committed, Waiting, Paused, Warned, RunEnded})


class TextDisplay:
    """A Watcher that writes text. `out` and `err` never raise; `columns` gives the terminal's current width."""

    def __init__(
        self,
        style: TerminalStyle,
        out: Callable[[str], object],
        err: Callable[[str], object],
        columns: Callable[[], int] | None = None,
    ) -> None:
        self._style = style
        self._out = out
        self._err = err
        self._columns = columns
        self._agent = AgentEventRenderer(style)
        self._loop = LoopEventRenderer(style)
        self._rows = IterationRows()
        self._progress = StatusLine(style) if style.progress else None
        self._at = 0.0
        self._second = -1
        self._stamp = ""
        self._pending_texts: list[str] = []
        self._lock = threading.RLock()  # events come from the run, redraws from a thread beside it
        self._keys = ""
        self._prompt = ""
        silent = dict.fromkeys(self._agent.renderers, _render_nothing)
        self._renderers: dict[type, Callable[[Any], str]] = {
            **(self._agent.renderers if style.stream_agent_output else silent),
            RunStarted: self._render_run_started,
            IterationStarted: self._render_iteration_started,
            AgentEnded: self._keep_and_render(self._loop.render_agent_ended),
            GateStarted: self._keep_and_render(self._loop.render_gate_started),
            GateEnded: self._keep_and_render(self._loop.render_gate_ended),
            Committed: self._keep_and_render(self._loop.render_committed),
            Doing: _render_nothing,
            Waiting: self._render_waiting,
            Paused: self._loop.render_paused,
            Warned: self._loop.render_warned,
            Hinted: self._loop.render_hinted,
            Debugged: self._write_debugged,
            RunEnded: self._render_run_ended,
        }

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        """Show the events of one moment in one write."""
        with self._lock:
            self._show(at, events)

    def _show(self, at: float, events: Sequence[Event]) -> None:
        self._at = at
        for event in events:
            if text := self._renderers[type(event)](event):
                self._pending_texts.append(self._wrap(text) if type(event) in _LOOP_EVENTS else text)
        if self._progress is not None:
            self._progress.handle_events(at, events)
        self._flush()

    def _wrap(self, text: str) -> str:
        """The loop's own lines, broken between words where there is a terminal to break them."""
        room = self._update_width() - (TIMESTAMP_CELLS if self._style.timestamps else 0)
        return wrap_painted(text, room) if self._style.width and room >= MIN_TERMINAL_WIDTH else text

    @property
    def has_status_line(self) -> bool:
        return self._progress is not None

    def tick(self, now: float) -> None:
        """Renews the status line; may be called often and by any thread, it draws four times a second at most."""
        with self._lock:
            if self._progress is not None and self._progress.has_run and self._progress.is_due(now):
                self._at = now
                self._redraw(self._progress)

    def show_keys(self, keys: str, prompt: str = "") -> None:
        """Which keys work, at the end of the status line; a prompt for what is typed takes the place of all of it."""
        with self._lock:
            if (keys, prompt) != (self._keys, self._prompt):
                self._keys, self._prompt = keys, prompt
                if self._progress is not None:
                    erasure = self._progress.render_erasure()
                    self._progress.clear_line()
                    self._out(erasure + self._render_progress(self._progress))

    def close(self) -> None:
        """Erase the status line."""
        with self._lock:
            if self._progress is not None:
                self._out(self._progress.render_erasure())
                self._progress = None

    def _redraw(self, progress: StatusLine) -> None:
        self._out(progress.render_erasure() + self._render_progress(progress))

    def _flush(self) -> None:
        progress, shown = self._progress, self._pending_texts
        if not shown:
            return
        text = "\n".join(shown)
        shown.clear()
        if self._style.timestamps:
            stamp = self._render_timestamp()
            text = stamp + text.replace("\n", "\n" + stamp)
        if progress is None:
            self._out(text + "\n")
        else:
            self._out(f"{progress.render_erasure()}{text}\n{self._render_progress(progress)}")

    def _render_progress(self, progress: StatusLine) -> str:
        if progress.is_due(self._at):
            width = self._update_width() - 1  # in the last column some terminals wrap
            if self._prompt:
                progress.show_prompt(self._at, width, self._prompt)
            else:
                progress.compose_line(self._at, width, self._keys)
        return progress.render_line()

    def _update_width(self) -> int:
        if self._columns is None:
            return self._style.width
        width = self._columns()
        self._agent.set_width(max(MIN_TERMINAL_WIDTH, width))
        return width  # the true one: of a line that the terminal breaks only the last part could be erased

    def _render_timestamp(self) -> str:
        second = int(self._at)
        if second != self._second:
            paint = self._style.palette
            self._second, self._stamp = second, f"{paint.dim}[{format_local_time('%H:%M:%S', self._at)}]{paint.off} "
        return self._stamp

    def _keep_and_render(self, render: Callable[[Any], str]) -> Callable[[Any], str]:
        def kept(event: Event) -> str:
            self._rows.add_event(event, self._at)
            return render(event)

        return kept

    def _render_run_started(self, event: RunStarted) -> str:
        self._rows.clear_rows()
        self._agent.reset_hints()
        return self._loop.render_run_started(event)

    def _render_iteration_started(self, event: IterationStarted) -> str:
        self._rows.add_event(event, self._at)
        self._agent.forget_open_calls()
        return self._loop.render_iteration_started(event)

    def _render_waiting(self, event: Waiting) -> str:
        return self._loop.render_waiting(event, self._at)

    def _render_run_ended(self, event: RunEnded) -> str:
        self._rows.add_event(event, self._at)
        if self._style.bell and event.outcome != "interrupted":
            words = one_line(f"ralph: {event.outcome.replace('_', ' ')}: {event.why}", MAX_BELL_CELLS)
            self._out(f"\a\x1b]9;{words}\x07")  # OSC 9: a message of the desktop, where the terminal knows it
        table = render_summary_table(self._rows.get_rows(), self._style)
        above = "" if self._style.timestamps else "\n"
        return f"{above}{table}\n{self._loop.render_run_ended(event)}" if table else self._loop.render_run_ended(event)

    def _write_debugged(self, event: Debugged) -> str:
        if self._style.verbose:
            self._flush()  # what came before stands before it
            text = DEBUG_PREFIX + sanitize(event.text).replace("\n", "\n" + DEBUG_PREFIX) + "\n"
            if self._progress is not None:
                self._out(self._progress.render_erasure())
            self._err(text)
            if self._progress is not None:
                self._out(self._progress.render_line())
        return ""


def _render_nothing(_: object) -> str:
    return ""
