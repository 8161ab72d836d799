"""Who a process is: a pid alone may be someone else by now."""

import os
import sys

from msgspec import Struct


class ProcessIdentity(Struct, frozen=True):
    """A pid, when it started (clock ticks since boot) and which boot that was."""

    pid: int
    ticks: int
    boot: str


def identify_process(pid: int) -> ProcessIdentity | None:
    """Its identity; None when there is no such process, or only its unburied remains."""
    if sys.platform != "linux":
        return ProcessIdentity(pid, 0, "") if _is_signalable(pid) else None
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            fields = file.read().rpartition(b")")[2].split()
        with open("/proc/sys/kernel/random/boot_id", buffering=1) as file:
            boot = file.read().strip()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else ProcessIdentity(pid, int(fields[19]), boot)


def identify_self() -> ProcessIdentity:
    return identify_process(os.getpid()) or ProcessIdentity(os.getpid(), 0, "")


def read_pid_namespace() -> int:
    """Where our pids mean something; 0 where there is no telling."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether that very process still runs."""
    return identify_process(identity.pid) == identity


def list_ancestors() -> list[int]:
    """The processes we descend from, the nearest first; none where the system does not tell."""
    found: list[int] = []
    pid = os.getppid()
    while pid > 1 and pid not in found:
        found.append(pid)
        pid = _read_parent(pid)
    return found


def _read_parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _is_signalable(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
