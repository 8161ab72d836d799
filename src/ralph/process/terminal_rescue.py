"""Gives a terminal its echo and its lines back should ralph be killed while it reads single keys."""

import os
from contextlib import suppress

_TERMINAL_FD, _LIFELINE_FD = 0, 3
_SCRIPT = "read -r word <&3 || exec stty icanon echo"  # end of file without a word: ralph is gone


class TerminalRescue:
    """A small process that waits for our end. It has a session of its own: neither Ctrl-C nor a signal to our group
    reaches it, and a terminal that is not its own may be set by it at any time."""

    def __init__(self, terminal: int) -> None:
        waiting, self._lifeline = os.pipe()
        onto = [
            (os.POSIX_SPAWN_DUP2, terminal, _TERMINAL_FD),
            (os.POSIX_SPAWN_DUP2, waiting, _LIFELINE_FD),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        variables = {"PATH": os.environ.get("PATH", os.defpath)}
        try:
            self._pid = os.posix_spawn("/bin/sh", ["sh", "-c", _SCRIPT], variables, file_actions=onto, setsid=True)
        finally:
            os.close(waiting)

    def dismiss(self) -> None:
        """The terminal is as it was: nothing is to be done."""
        with suppress(OSError):
            os.write(self._lifeline, b"done\n")
        os.close(self._lifeline)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
