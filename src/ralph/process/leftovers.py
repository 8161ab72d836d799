"""What a dead run may have left: its guardian ends it, and where that died too, we do."""

import os
import signal
import time
from collections.abc import Collection

from ralph.process.guardian import has_yet_to_exec, is_loop, list_descendants
from ralph.process.identity import ProcessIdentity, is_alive

GUARDIAN_WAIT_SECONDS = 8.0  # its own grace is five seconds
LEFTOVER_GRACE_SECONDS = 2.0
EXEC_GRACE_SECONDS = 1.0  # from fork to exec on a machine that is busy


def end_leftovers(run: str, guardian: ProcessIdentity) -> int:
    """Wait for the guardian to finish its work, then end every process that still carries the run's id. How many."""
    deadline = time.monotonic() + GUARDIAN_WAIT_SECONDS
    while is_alive(guardian) and time.monotonic() < deadline:
        time.sleep(0.02)
    ended: set[int] = set()
    deadline = time.monotonic() + LEFTOVER_GRACE_SECONDS
    while (found := find_processes_of_run(run)) and time.monotonic() < deadline + LEFTOVER_GRACE_SECONDS:
        ended |= found
        _send_signal(found, signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL)
        time.sleep(0.05)
    return len(ended)


def find_processes_of_run(run: str) -> set[int]:
    """Processes with this run's id in the environment they were started with."""
    mark = f"RALPH_RUN_ID={run}".encode()
    found = set()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        found.add(int(name))
            except OSError:
                continue  # gone, or another user's
    return found


def wait_for_exec(guardian: int, known: Collection[int]) -> None:
    """A moment for what was forked below the guardian and is not yet the program it will be: it may become a loop.
    Who is known, and who is a loop already, is not waited for."""
    deadline = time.monotonic() + EXEC_GRACE_SECONDS
    while time.monotonic() < deadline:
        loops = filter(is_loop, list_descendants(guardian, known))
        if not any(map(has_yet_to_exec, list_descendants(guardian, {*known, *loops}))):
            return
        time.sleep(0.01)


def _send_signal(pids: Collection[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass  # gone, or not ours to end
