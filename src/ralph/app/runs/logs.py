"""Use case: the words of a run, as far as they are kept, and as they come."""

import os
import time
from collections.abc import Callable, Iterator

from ralph.app.paths import Paths
from ralph.app.runs.status import find_run, is_run_active
from ralph.app.runs.tail import FileTail

LOG_POLL_SECONDS = 0.1


def read_log(places: Paths, name: str) -> Iterator[bytes]:
    """Whole lines of what a run has told so far, the oldest first."""
    folder = places.run_dir(find_run(places, name).id)
    for file in ("events.1.ndjson", "events.ndjson"):
        yield from _read_lines(os.path.join(folder, file), 0, lambda: False)


def follow_log(places: Paths, name: str) -> Iterator[bytes]:
    """The same, and then what comes, until the run has ended."""
    record = find_run(places, name)
    folder = places.run_dir(record.id)
    yield from _read_lines(os.path.join(folder, "events.1.ndjson"), 0, lambda: False)
    yield from _read_lines(
        os.path.join(folder, "events.ndjson"), LOG_POLL_SECONDS, lambda: is_run_active(places, record.id)
    )


def _read_lines(path: str, pause: float, goes_on: Callable[[], bool]) -> Iterator[bytes]:
    """Blocks of whole lines, and at last what no newline followed."""
    tail = FileTail(path)
    while True:
        active = goes_on()  # asked before reading: what is written until its end is still read
        yield from tail.read_blocks()
        if not active:
            break
        time.sleep(pause)
    tail.close()
    if tail.partial_line():
        yield tail.partial_line()
