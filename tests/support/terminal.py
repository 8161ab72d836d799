"""The installed program on a terminal of its own: what it draws is seen, what we type it reads."""

import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from fcntl import ioctl
from pathlib import Path


class PseudoTerminal:
    """A pseudo terminal, and one program in it. Nothing is typed or judged before it was seen."""

    def __init__(
        self, argv: Sequence[str], folder: Path, environment: Mapping[str, str], size: tuple[int, int] = (160, 45)
    ) -> None:
        self.seen = b""
        self._ended: int | None = None
        self.pid, self._ours = pty.fork()
        if self.pid == 0:
            self._resize(0, size)
            os.chdir(folder)
            os.execvpe(argv[0], [*argv], {**environment, "TERM": "xterm-256color"})
        self.before = termios.tcgetattr(self._ours)

    def until(self, condition: Callable[[], bool], seconds: float = 20.0) -> bool:
        """Whether it becomes true in time, while what is drawn is read."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            self._read(0.05)
        return True

    def sees(self, text: str, seconds: float = 20.0) -> bool:
        """Whether that is drawn."""
        return self.until(lambda: text.encode() in self.seen, seconds)

    def types(self, keys: str) -> None:
        """As a person would."""
        os.write(self._ours, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """The window has another size now."""
        self._resize(self._ours, (columns, lines))

    def hang_up(self) -> None:
        """Close the window."""
        os.close(self._ours)
        self._ours = -1

    def signal(self, number: int) -> None:
        """From somewhere else."""
        os.kill(self.pid, number)

    def ended(self, seconds: float = 10.0) -> int | None:
        """Its exit code, or minus the signal that ended it; None while it runs."""
        if self.until(self._has_ended, seconds):
            self._read_rest()
        return self._ended

    def edits_lines(self) -> bool:
        """Whether what is typed is echoed and comes line by line, as a shell leaves it."""
        modes = termios.tcgetattr(self._ours)[3]
        return bool(modes & termios.ICANON and modes & termios.ECHO)

    def is_restored(self) -> bool:
        """Whether the terminal is as it was: lines are edited and echoed, no other screen, no mouse, a cursor."""
        modes = termios.tcgetattr(self._ours)[3]
        last = {mode: self.seen.rfind(b"\x1b[?%d" % mode) for mode in (1049, 1000, 25)}
        ends = {mode: self.seen[at + len(b"\x1b[?%d" % mode) :][:1] for mode, at in last.items()}
        return bool(modes & termios.ICANON and modes & termios.ECHO) and ends == {1049: b"l", 1000: b"l", 25: b"h"}

    def close(self) -> None:
        """Nothing is left."""
        if not self._has_ended():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        if self._ours >= 0:
            os.close(self._ours)

    def _has_ended(self) -> bool:
        if self._ended is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._ended = os.waitstatus_to_exitcode(status) if pid else None
        return self._ended is not None

    def _read_rest(self) -> None:
        """What it drew just before it ended."""
        while self._ours >= 0 and select.select([self._ours], [], [], 0.05)[0]:
            try:
                data = os.read(self._ours, 1 << 16)
            except OSError:
                return
            if not data:
                return
            self.seen += data

    def _read(self, seconds: float) -> None:
        if self._ours < 0:
            time.sleep(seconds)
        elif select.select([self._ours], [], [], seconds)[0]:
            try:
                self.seen += os.read(self._ours, 1 << 16)
            except OSError:  # the program is gone
                time.sleep(0.01)

    @staticmethod
    def _resize(fd: int, size: tuple[int, int]) -> None:
        ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
