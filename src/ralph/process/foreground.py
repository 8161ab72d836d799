"""A command on the user's own terminal: what is typed is for it, until it ends."""

import os
import signal

from ralph.model.command import Command


def run_in_foreground(command: Command) -> int:
    """Its exit code, 128 and more where a signal ended it. Ctrl-C is its business, not ours."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        os.chdir(command.cwd)
        pid = os.posix_spawn(
            command.argv[0], command.argv, dict(command.environment), setsigdef=(signal.SIGINT, signal.SIGQUIT)
        )
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return code if code >= 0 else 128 - code
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
