"""Looking at processes from outside."""

import os
import time
from collections.abc import Callable


def find_processes_with(token: str) -> set[int]:
    """Every living process that carries the token as a word of its command line."""
    return _find_processes(token, "cmdline")


def find_processes_started_with(variable: str) -> set[int]:
    """Every living process that was started with this `NAME=value` in its environment."""
    return _find_processes(variable, "environ")


def _find_processes(token: str, file_name: str) -> set[int]:
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/{file_name}", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{pid}/stat", "rb") as file:
                dead = file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
        except OSError:
            continue
        if token.encode() in words and not dead and int(pid) != os.getpid():
            found.add(int(pid))
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether it becomes true in time; asked often, never longer than needed."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
