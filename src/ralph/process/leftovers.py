"""What a dead run may have left: its guardian ends it, and where that died too, we do."""

import os
import signal
import time
from collections.abc import Collection
from itertools import pairwise

from ralph.process.identity import ProcessIdentity, is_alive

GUARDIAN_WAIT_SECONDS = 8.0  # its own grace is five seconds
LEFTOVER_GRACE_SECONDS = 2.0
EXEC_GRACE_SECONDS = 0.15
LOOP_COMMANDS = frozenset({"run", "supervise", "execute", "story", "-p", "-f", "--prompt", "--prompt-file"})


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


def find_loops_started_by(run: str) -> set[int]:
    """Processes of `ralph` itself that an agent of this run started: known from the moment they are spawned, while they
    tell of themselves only once they have loaded."""
    return {pid for pid in find_processes_of_run(run) if _is_loop(pid)}


def wait_for_exec(run: str) -> None:
    """A moment for what was forked and is not yet what it will be; none where nothing is left of the agent."""
    deadline = time.monotonic() + EXEC_GRACE_SECONDS
    while find_processes_of_run(run) != find_loops_started_by(run) and time.monotonic() < deadline:
        time.sleep(0.03)


def _is_loop(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return False
    return any(os.path.basename(word) == "ralph" and verb in LOOP_COMMANDS for word, verb in pairwise(words))


def _send_signal(pids: Collection[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass  # gone, or not ours to end
