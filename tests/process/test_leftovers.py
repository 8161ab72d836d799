"""What is waited for before the remains of an agent are ended."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ralph.process import leftovers
from ralph.process.leftovers import wait_for_exec

FORK = """\
import os, sys, time
if pid := os.fork():
    print(pid, flush=True)
    sys.stdin.read()
    os.kill(pid, 9)
else:
    time.sleep(float(sys.argv[1]))
    os.execvp("sleep", ["sleep", "60"])
"""


@contextmanager
def fork(exec_after: float) -> Iterator[tuple[int, int]]:
    """A process, and what it forked, which becomes another program later."""
    argv = [sys.executable, "-c", FORK, str(exec_after)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        yield parent.pid, int(parent.stdout.readline())


def measure_wait(guardian: int, *known: int) -> float:
    began = time.monotonic()
    wait_for_exec(guardian, known)
    return time.monotonic() - began


def test_what_was_forked_is_given_time_to_become_a_program() -> None:  # 003-17
    with fork(0.3) as (guardian, _):
        assert 0.1 < measure_wait(guardian) < leftovers.EXEC_GRACE_SECONDS
        assert measure_wait(guardian) < 0.1  # a program is not waited for


def test_but_not_for_ever() -> None:
    with fork(60) as (guardian, pid):
        assert measure_wait(guardian) >= leftovers.EXEC_GRACE_SECONDS
        assert measure_wait(guardian, pid) < 0.1  # nor at all for a child run that is known
