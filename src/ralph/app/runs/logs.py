"""Use case: the words of a run, as far as they are kept, and as they come."""

import os
import time
from collections.abc import Callable, Iterator

from ralph.app.paths import Places
from ralph.app.runs.status import find, is_active
from ralph.app.runs.tail import Tail

LOOK_EVERY = 0.1


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
    """Blocks of whole lines, and at last what no newline followed."""
    tail = Tail(path)
    while True:
        active = goes_on()  # asked before reading: what is written until its end is still read
        yield from tail.blocks()
        if not active:
            break
        time.sleep(pause)
    tail.close()
    if tail.rest():
        yield tail.rest()
