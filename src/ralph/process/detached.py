"""A process that outlives us and the terminal: a session of its own, nothing on stdin, its words in a file."""

import os
from collections.abc import Mapping, Sequence

_IN_FOLDER = ("/bin/sh", "-c", 'cd -- "$0" && exec "$@"')  # a spawn itself cannot change the folder


def start_detached(argv: Sequence[str], environment: Mapping[str, str], log: str, folder: str = "") -> int:
    """Its process id. The file is made anew. Without a folder it starts in ours."""
    argv = (*_IN_FOLDER, folder, *argv) if folder else argv
    onto = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(argv[0], list(argv), dict(environment), file_actions=onto, setsid=True)


def read_exit(pid: int) -> int | None:
    """The exit code of a child of ours; None: it is still there."""
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None
