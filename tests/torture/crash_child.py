"""ralph, with something that happens at a named point: `crash_child.py POINT SIDE NUMBER WHAT -- ralph's own words`.

WHAT: kill, ENOSPC or EIO. With the single word `census`, nothing happens, and how often each point was reached is left
in $CENSUS."""

import errno
import functools
import importlib
import json
import os
import signal
import sqlite3
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from torture.crash_points import BY_NAME, POINTS, Point

counts: Counter[str] = Counter()


def wrap(point: Point, happen: Callable[[str], None]) -> None:
    owner: Any = importlib.import_module(point.module)
    *path, name = point.function.split(".")
    for part in path:
        owner = getattr(owner, part)
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(*args: Any, **options: Any) -> Any:
        if not leaves_something(point, *args, **options):
            return original(*args, **options)
        counts[point.name] += 1
        happen("before")
        result = original(*args, **options)
        happen("after")
        return result

    setattr(owner, name, wrapped)


def leaves_something(point: Point, *args: Any, **options: Any) -> bool:
    """Pipes and reading do no harm."""
    match point.name:
        case "os:write":
            return stat.S_ISREG(os.fstat(args[0]).st_mode)
        case "builtins:open":
            return not {*"wax+"}.isdisjoint(args[1] if len(args) > 1 else options.get("mode", "r"))
        case _:
            return True


def fail(point: Point, what: str) -> None:
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    number = getattr(errno, what)
    if point.fails == "sqlite":
        said = "database or disk is full" if what == "ENOSPC" else "disk I/O error"
        raise sqlite3.OperationalError(said)
    raise OSError(number, os.strerror(number), "a file")


def arm(name: str, side: str, number: int, what: str) -> None:
    point = BY_NAME[name]

    def happen(now: str) -> None:
        stays = what == "ENOSPC" and point.fails == "disk"  # nobody makes room on it
        if now == side and (counts[name] == number or (stays and counts[name] > number)):
            fail(point, what)

    wrap(point, happen)


def leave(code: int) -> None:
    if path := os.environ.get("CENSUS"):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(counts, file)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    at = sys.argv.index("--")
    plan, words = sys.argv[1:at], sys.argv[at + 1 :]
    sys.argv = ["ralph", *words]
    from ralph.__main__ import main as ralph

    if plan == ["census"]:
        for point in POINTS:
            wrap(point, lambda _: None)
    else:
        arm(plan[0], plan[1], int(plan[2]), plan[3])
    if turn := float(os.environ.get("TURN_CLOCK", "0")):
        _turn_clock(turn)
    leave(ralph())


def _turn_clock(seconds: float) -> None:
    """From the third time it is looked at."""
    right, looks = time.time, Counter[str]()

    def wrong() -> float:
        looks["all"] += 1
        return right() + (seconds if looks["all"] > 3 else 0.0)

    time.time = wrong


main()
