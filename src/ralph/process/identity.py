"""Who a process is: a pid alone may be someone else by now, and says nothing in another container or machine."""

import os
import sys
from typing import Literal

from msgspec import Struct

Liveness = Literal["alive", "dead", "unknown"]


class _Place(Struct, frozen=True, kw_only=True):
    """Where a pid means something; empty where nobody wrote it down."""

    host: str = ""
    pid_namespace: int = 0


class ProcessIdentity(_Place, frozen=True):
    """A pid, when it started (clock ticks since boot) and which boot that was."""

    pid: int
    ticks: int
    boot: str


def identify_process(pid: int) -> ProcessIdentity | None:
    """Its identity; None when there is no such process, or only its unburied remains."""
    if sys.platform != "linux":
        return ProcessIdentity(pid, 0, "", host=os.uname().nodename) if _is_signalable(pid) else None
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            fields = file.read().rpartition(b")")[2].split()
        boot = _read_boot()
    except OSError:
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    return ProcessIdentity(pid, int(fields[19]), boot, host=os.uname().nodename, pid_namespace=read_pid_namespace())


def identify_self() -> ProcessIdentity:
    return identify_process(os.getpid()) or ProcessIdentity(os.getpid(), 0, "", host=os.uname().nodename)


def read_pid_namespace() -> int:
    """Where our pids mean something; 0 where there is no telling."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether that very process still runs, as far as we can see."""
    return find_liveness(identity) == "alive"


def find_liveness(identity: ProcessIdentity) -> Liveness:
    """Whether that very process still runs; unknown where its pid is one of another machine or PID namespace."""
    is_elsewhere = identity.host not in ("", os.uname().nodename)
    if sys.platform != "linux" or identity.boot != _read_boot_or_empty():
        if is_elsewhere:
            return "unknown"
        if sys.platform == "linux":
            return "dead"  # the machine was started anew since
    elif identity.pid_namespace not in (0, read_pid_namespace()):
        return "unknown"
    found = identify_process(identity.pid)
    is_same = found is not None and (found.pid, found.ticks, found.boot) == (
        identity.pid,
        identity.ticks,
        identity.boot,
    )
    return "alive" if is_same else "dead"


def _read_boot() -> str:
    with open("/proc/sys/kernel/random/boot_id", buffering=1) as file:
        return file.read().strip()


def _read_boot_or_empty() -> str:
    try:
        return _read_boot()
    except OSError:
        return ""


def list_ancestors(of: int | None = None) -> list[int]:
    """The processes that we, or another one, descend from, the nearest first; none where the system does not tell."""
    found: list[int] = []
    pid = os.getppid() if of is None else _read_parent(of)
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
