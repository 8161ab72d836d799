"""Whether the loop that wrote a marker is surely dead. In doubt it is not: then the marker counts as before."""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def is_dead(marker: str) -> bool:
    """Whether the process a marker's text names is gone, as far as that can be seen from here.

    A pid means nothing in another machine or container, so boot and namespace must be ours. Markers of other tools,
    which tell neither, are believed.
    """
    try:
        told = json.loads(marker)
    except (ValueError, RecursionError):
        return False
    if not isinstance(told, dict) or not _is_number(told.get("pid")):
        return False
    return _is_gone(told) if sys.platform == "linux" else _is_unknown(told)


def _is_gone(told: dict[str, Any]) -> bool:
    """By start time: the number may be someone else's by now."""
    if not _is_number(told.get("ticks")) or told.get("boot") != _boot() or told.get("pidNamespace") != _namespace():
        return False
    try:
        with open(f"/proc/{told['pid']}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return _is_nobody(told["pid"])  # it may only be hidden
    return fields[0] in (b"Z", b"X") or int(fields[19]) != told["ticks"]


def _is_unknown(told: dict[str, Any]) -> bool:
    """Without /proc: whether there is no such process. What Linux wrote (it tells its boot) is not seen from here."""
    return told.get("boot") == "" and told.get("pidNamespace") == 0 and _is_nobody(told["pid"])


def _is_nobody(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _boot() -> str:
    """Something no marker says, where it cannot be read."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read().decode().strip() or "?"
    except OSError:
        return "?"


def _namespace() -> int:
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return -1
