"""Steering the run one watches, by keys: pause, note, stop."""

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

from ralph.faces.cli.live.display import TextDisplay
from ralph.faces.cli.live.keys import KeyActions, KeyReader
from ralph.faces.cli.live.status_line import STATUS_LINE_SECONDS
from ralph.faces.cli.terminal.keyboard import Keyboard
from ralph.model.errors import RalphError
from ralph.model.events import Event, Hinted, IterationStarted, Paused, RunEnded, RunStarted, Warned

if TYPE_CHECKING:
    from ralph.app.paths import Paths

HELP = (
    "Keys: p pauses before the next agent, or resumes; n leaves a note for the next agent; q stops after this step,"
    " like Ctrl-C (Ctrl-C twice: now)"
)


class SteeringKeys:
    """A Watcher, and a thread that reads keys and renews the status line. What a key cannot do is told as a warning."""

    def __init__(self, display: TextDisplay, keyboard: Keyboard, paths: "Paths") -> None:
        self._display, self._keyboard, self._paths = display, keyboard, paths
        self._run = ""  # empty: none is at work
        self._keys = KeyReader(KeyActions(pause=self._pause, note=self._note, stop=self._stop, help=self._help))
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read_keys, name="keys", daemon=True)
        self._thread.start()

    @classmethod
    def open_terminal(cls, display: TextDisplay, stdin: TextIO | None, paths: "Paths") -> "SteeringKeys | None":
        """None where nobody sits at a keyboard."""
        try:
            keyboard = Keyboard.open_terminal(stdin.fileno()) if stdin is not None else None
        except (OSError, ValueError):  # closed, or what tests put in its place
            keyboard = None
        return cls(display, keyboard, paths) if keyboard else None

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case RunStarted(run=run):
                    self._run, self._keys.is_paused = run, False
                case RunEnded():
                    self._run = ""
                case Paused():
                    self._keys.is_paused = True
                case IterationStarted():
                    self._keys.is_paused = False
                case _:
                    pass

    def close(self) -> None:
        """The terminal as it was; what was typed for somebody else is told where it cannot be given back."""
        self._closed.set()
        self._keyboard.wake()
        self._thread.join()
        self._display.show_keys("")
        left = self._keyboard.close(self._keys.typed).decode(errors="replace").strip()
        if len(left) > 1:
            self._display(time.time(), 0, [Hinted(f"Typed while ralph was running and ignored: {left}")])

    def _read_keys(self) -> None:
        while not self._closed.is_set():
            keys = self._keyboard.read_keys(self._keys.patience or 2 * STATUS_LINE_SECONDS)
            self._keys.feed(keys, time.monotonic())
            self._display.show_keys(self._keys.hint, self._keys.prompt)
            self._display.tick(time.time())

    # -- actions --------------------------------------------------------------------------------
    def _pause(self) -> None:
        from ralph.app.control.pausing import lift_pause, pause
        from ralph.app.control.person import identify_person

        def toggle() -> str:
            by = identify_person(os.environ, "ralph pause")
            if self._keys.is_paused:
                lift_pause(self._paths, self._run)
                self._keys.is_paused = False
                return "Resumed"
            pause(self._paths, self._run, by=by)
            self._keys.is_paused = True
            return "Pausing after this step; press p again to resume"

        self._try(toggle)

    def _note(self, text: str) -> None:
        from ralph.app.control.notes import add_note
        from ralph.app.control.person import identify_person

        def send() -> str:
            add_note(self._paths, self._run, text, by=identify_person(os.environ, "ralph note"))
            return "Noted for the next agent"

        self._try(send)

    def _stop(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    def _help(self) -> None:
        self._tell(HELP)

    def _try(self, act: Callable[[], str]) -> None:
        try:
            self._tell(act() if self._run else "Nothing is running yet")
        except RalphError as error:
            self._display(time.time(), 0, [Warned(f"{error.message}: {error.hint}" if error.hint else error.message)])

    def _tell(self, text: str) -> None:
        self._display(time.time(), 0, [Hinted(text)])
