"""Use case: the words of a run, as far as they are kept, and as they come."""

import os
import time
from collections.abc import Callable, Iterator

from ralph.app.places import Places
from ralph.app.status import find, is_active

LOOK_EVERY = 0.1
_BLOCK = 1 << 20


def told(places: Places, name: str) -> Iterator[bytes]:
    """Whole lines of what a run has told so far, the oldest first."""
    folder = places.records(find(places, name).id)
    for file in ("events.1.ndjson", "events.ndjson"):
        yield from _lines(os.path.join(folder, file), 0, lambda: False)


def following(places: Places, name: str) -> Iterator[bytes]:
    """The same, and then what comes, until the run has ended."""
    record = find(places, name)
    folder = places.records(record.id)
    yield from _lines(os.path.join(folder, "events.1.ndjson"), 0, lambda: False)
    yield from _lines(os.path.join(folder, "events.ndjson"), LOOK_EVERY, lambda: is_active(places, record.id))


def _lines(path: str, pause: float, goes_on: Callable[[], bool]) -> Iterator[bytes]:
    """Blocks of whole lines; a file that is rotated away is read to its end, then the new one from its start."""
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115  # it may be exchanged for its successor
    except FileNotFoundError:
        return
    rest = b""
    while True:
        active = goes_on()  # asked before reading: what is written until its end is still read
        while data := file.read(_BLOCK):
            block, _, rest = (rest + data).rpartition(b"\n")
            if block:
                yield block + b"\n"
        if _replaced(path, file.fileno()):
            file.close()
            file = open(path, "rb", buffering=0)  # noqa: SIM115
        elif not active:
            break
        else:
            time.sleep(pause)
    file.close()
    if rest:
        yield rest


def _replaced(path: str, fd: int) -> bool:
    try:
        return os.stat(path).st_ino != os.fstat(fd).st_ino
    except FileNotFoundError:
        return False
