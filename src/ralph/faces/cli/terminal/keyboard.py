"""Single keys of a terminal, read beside what is printed. It is left as it was found, whatever happens to us."""

import os
import select
import termios
from contextlib import suppress

from ralph.app.terminal_guard import guard_terminal

_LOCAL_FLAGS = 3  # where tcgetattr keeps them
_SINGLE_KEYS = termios.ICANON | termios.ECHO
READ_BYTES = 1024


class Keyboard:
    """Reads a terminal key by key, without echo, while we are in its foreground. Ctrl-C and Ctrl-Z work as always."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._found = termios.tcgetattr(fd)
        self._read_end, self._wake_end = os.pipe()
        self._guard = guard_terminal(fd)
        self._is_gone = False
        self._take_keys()

    @classmethod
    def open_terminal(cls, fd: int) -> "Keyboard | None":
        """None where nobody types: no terminal, or we are in its background."""
        try:
            return cls(fd) if os.isatty(fd) and _is_in_foreground(fd) else None
        except (OSError, termios.error):
            return None

    def read_keys(self, seconds: float) -> bytes:
        """What was typed, at once or within so many seconds; empty for nothing, and after `wake`."""
        with suppress(OSError, termios.error):
            if not self._is_gone and self._take_keys():
                ready, _, _ = select.select([self._fd, self._read_end], [], [], seconds)
                if self._fd not in ready:
                    return b""
                keys = os.read(self._fd, READ_BYTES)
                self._is_gone = not keys
                return keys
        select.select([self._read_end], [], [], seconds)
        return b""

    def wake(self) -> None:
        """Whoever reads returns at once."""
        os.write(self._wake_end, b".")

    def close(self, unused: bytes = b"") -> bytes:
        """The terminal as it was. What was typed and meant for nobody here goes back to it, for whoever reads it next;
        returns what could not."""
        with suppress(OSError, termios.error):
            if _is_in_foreground(self._fd):
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._found)
                unused = self._type_again(unused)
        self._guard.dismiss()
        os.close(self._read_end)
        os.close(self._wake_end)
        return unused

    def _take_keys(self) -> bool:
        """Also after Ctrl-Z and fg, when the shell has set the terminal its own way. False: it is not ours now."""
        if not _is_in_foreground(self._fd):
            return False
        now = termios.tcgetattr(self._fd)
        if now[_LOCAL_FLAGS] & _SINGLE_KEYS:
            now[_LOCAL_FLAGS] &= ~_SINGLE_KEYS
            termios.tcsetattr(self._fd, termios.TCSANOW, now)
        return True

    def _type_again(self, unused: bytes) -> bytes:
        import fcntl

        for at in range(len(unused)):
            try:
                fcntl.ioctl(self._fd, termios.TIOCSTI, unused[at : at + 1])
            except OSError:  # most kernels no longer let a program type
                return unused[at:]
        return b""


def _is_in_foreground(fd: int) -> bool:
    return os.tcgetpgrp(fd) == os.getpgrp()
