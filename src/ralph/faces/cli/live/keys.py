"""Keys that steer a run while it is watched: which key means what. A key counts only by itself: words that somebody
types for the shell that comes after us are no keys."""

import codecs
from collections.abc import Callable

from msgspec import Struct

QUIET_SECONDS_AROUND_KEY = 0.35  # nobody types words that slowly
_ENTER, _ESCAPE, _BACKSPACE, _CLEAR = ("\r", "\n"), "\x1b", ("\x7f", "\b"), "\x15"
MAX_TYPED_BYTES = 4096


class KeyActions(Struct, frozen=True, kw_only=True):
    """What keys do. Each may fail by itself; none takes long."""

    pause: Callable[[], object]  # or resume
    note: Callable[[str], object]
    stop: Callable[[], object]
    help: Callable[[], object]


class KeyReader:
    """Takes what is typed, with the time it came; knows which keys and which prompt to show."""

    def __init__(self, actions: KeyActions) -> None:
        self._actions = actions
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._candidate = ""  # a key that counts if nothing follows it
        self._last_at = float("-inf")
        self._note: str | None = None  # as far as it is typed
        self._asks_to_stop = False
        self.typed = b""  # what was no key
        self.is_paused = False

    @property
    def hint(self) -> str:
        return f"p {'resume' if self.is_paused else 'pause'}, n note, q stop"

    @property
    def prompt(self) -> str:
        """What is asked for right now, in the place of the status line."""
        if self._note is not None:
            return f"Note to the next agent (Enter sends, Esc cancels): {self._note}"
        return "Stop after this step? y/n" if self._asks_to_stop else ""

    @property
    def patience(self) -> float | None:
        """Seconds until a key that may count does; None: there is none."""
        return QUIET_SECONDS_AROUND_KEY if self._candidate else None

    def feed(self, data: bytes, at: float) -> None:
        """What came; nothing, when only time went by."""
        if not data:
            if self._candidate and at - self._last_at >= QUIET_SECONDS_AROUND_KEY:
                key, self._candidate = self._candidate, ""
                self._press(key)
            return
        quiet, self._last_at = at - self._last_at >= QUIET_SECONDS_AROUND_KEY, at
        if self._note is not None:
            self._edit_note(self._decoder.decode(data))
        elif self._asks_to_stop:
            self._answer(data)
        elif quiet and not self._candidate and data in _KEYS:
            self._candidate = data.decode()
        else:
            self.typed = (self.typed + self._candidate.encode() + data)[-MAX_TYPED_BYTES:]
            self._candidate = ""

    def _press(self, key: str) -> None:
        match key:
            case "p":
                self._actions.pause()
            case "n":
                self._note = ""
            case "q":
                self._asks_to_stop = True
            case _:
                self._actions.help()

    def _answer(self, data: bytes) -> None:
        self._asks_to_stop = False
        if data.lower() == b"y":
            self._actions.stop()

    def _edit_note(self, text: str) -> None:
        if text.startswith(_ESCAPE):  # alone, or the beginning of an arrow key
            self._note = None if text == _ESCAPE else self._note
            return
        for character in text:
            if self._note is None:
                return  # what follows the Enter of a paste
            if character in _ENTER:
                note, self._note = self._note.strip(), None
                if note:
                    self._actions.note(note)
            elif character in _BACKSPACE:
                self._note = self._note[:-1]
            elif character == _CLEAR:
                self._note = ""
            elif character.isprintable():
                self._note += character


_KEYS = (b"p", b"n", b"q", b"?", b"h")
