"""Starting the guardian: the first thing a run does, so that it starts beside our own imports."""

import _socket
import os
import sys

ORPHAN_GRACE_SECONDS = 5.0
# `-c` and an import: a script file would be compiled anew each time.
_BOOT_SCRIPT = "import sys; sys.path.append(sys.argv[1]); import guardian; guardian.main()"

GuardianHandle = tuple[int, "_socket.socket"]


def start_guardian(orphan_grace: float = ORPHAN_GRACE_SECONDS) -> GuardianHandle:
    """Its process id and our end of the control socket."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    argv = [sys.executable, "-I", "-S", "-c", _BOOT_SCRIPT, os.path.dirname(__file__), str(orphan_grace)]
    onto = [
        (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    try:
        pid = os.posix_spawn(argv[0], argv, {}, file_actions=onto, setsid=True)
    finally:
        theirs.close()
    return pid, ours
