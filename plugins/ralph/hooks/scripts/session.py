"""What every hook shares: the event on stdin, the marker of a running loop, a note kept for one session."""

from __future__ import annotations

import json
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Event = dict[str, Any]
    Answer = dict[str, Any] | None  # None: nothing to say

MARKER = ".ralph-active"
LARGEST = 4 << 20  # bytes of a file


def answer_with(name: str, hook: Callable[[Event], Answer]) -> None:
    """Runs a hook. Whatever goes wrong in it, the session goes on: the runner judges all the same."""
    try:
        answer = hook(_event())
        if answer is not None:
            os.write(1, json.dumps(answer).encode() + b"\n")
    except Exception as error:  # noqa: BLE001  # a bug of ours must not trap someone's session
        complain(f"{name} failed and lets go ({type(error).__name__}: {error})")


def complain(text: str) -> None:
    """On stderr, which Claude Code keeps for its log."""
    try:
        os.write(2, f"ralph: {text}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def _event() -> Event:
    found = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
    if not isinstance(found, dict):
        raise ValueError("the event is not a JSON object")
    return found


# -- the running loop -----------------------------------------------------------------------------
def active_root(event: Event) -> tuple[str, str] | None:
    """The project of the loop that is running here, and its marker; None when there is none, or only a dead one's."""
    for start in (os.environ.get("CLAUDE_PROJECT_DIR"), event.get("cwd"), os.getcwd()):
        for folder in _up_to_repository(start if isinstance(start, str) else ""):
            for place in (MARKER, os.path.join(".ralph", MARKER)):
                path = os.path.join(folder, place)
                if os.path.exists(path) and not _is_left_over(path):
                    return folder, path
    return None


def _is_left_over(marker: str) -> bool:
    """A loop that was killed could not remove it."""
    import holder  # only when there is a marker

    return holder.is_dead(text_of(marker) or "")


def _up_to_repository(start: str) -> Iterator[str]:
    """The folder and, inside a repository, those above it."""
    if not os.path.isabs(start):
        return
    found, folder = [start], start
    while not _is_repository(os.path.join(folder, ".git")):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            found = [start]
            break
        found.append(folder)
    yield from found


def _is_repository(git: str) -> bool:
    """Sandboxes leave empty folders of that name behind."""
    return os.path.isfile(git) or os.path.exists(os.path.join(git, "HEAD"))


def text_of(path: str) -> str | None:
    """A file's text; None without one, or when it is none to be read: a pipe would have us wait."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            return None
        with open(handle, "rb", closefd=False) as file:
            return file.read(LARGEST).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(handle)


# -- a note for one session -----------------------------------------------------------------------
class Note:
    """A number remembered between the hooks of one session, in the temporary folder."""

    def __init__(self, kind: str, event: Event) -> None:
        self._path = os.path.join(_temporary_folder(), f"claude-{kind}-{_safe(_session(event))}")
        self.usable = bool(_session(event))

    def read(self) -> int:
        """The number; 0 when there is none."""
        try:
            with os.fdopen(os.open(self._path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
                return int(file.read(20))
        except (OSError, ValueError):
            return 0

    def raise_to(self, number: int) -> bool:
        """Whether it was lower; of hooks at the same moment only one hears yes. No when it cannot be kept."""
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError as error:
            complain(f"cannot keep {self._path}: {error.strerror}")
            return False
        with os.fdopen(handle, "r+b") as file:
            _lock(file.fileno())
            text = file.read(20)
            if text.isdigit() and int(text) >= number:
                return False
            file.seek(0)
            file.truncate()
            file.write(b"%d" % number)
            return True

    def forget(self) -> None:
        """As if nothing had been."""
        try:
            os.unlink(self._path)
        except OSError:
            pass


def _session(event: Event) -> str:
    """What tells this session from others: its id, else its transcript; empty when nothing does."""
    for value in (event.get("session_id"), event.get("transcript_path")):
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _safe(name: str) -> str:
    """Any text as a file name that no other text has (but for chance, where it is long)."""
    if name.replace("-", "").replace("_", "").isalnum() and name.isascii() and len(name) <= 64:
        return name
    import binascii

    raw = name.encode("utf-8", "surrogatepass")
    tail = raw[-40:].hex()
    return f"x{len(raw)}-{binascii.crc32(raw):08x}-{tail}"


def _temporary_folder() -> str:
    for name in ("TMPDIR", "TEMP", "TMP"):
        folder = os.environ.get(name, "")
        if os.path.isdir(folder):
            return folder
    return "/tmp"


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(handle, fcntl.LOCK_EX)
