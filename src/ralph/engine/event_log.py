"""events.ndjson: what happened, for faces to tail. Bounded; no state: its loss loses nothing."""

import os
from collections.abc import Sequence

import msgspec

from ralph.model.events import Event

MAX_EVENT_LOG_BYTES = 8 << 20
_encoder = msgspec.json.Encoder()


def _encode_events(at: float, iteration: int, events: Sequence[Event]) -> bytes:
    """A line each, as an `EventRecord` would be: what they have in common is encoded once, for there may be a flood."""
    start = b'{"at":%b,"iteration":%d,"event":' % (_encoder.encode(at), iteration)
    return start + _encoder.encode_lines(events)[:-1].replace(b"\n", b"}\n" + start) + b"}\n"


class EventLog:
    """A Watcher that appends. The file before the current one is kept as `events.1.ndjson`."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "events.ndjson")
        self._rotated_path = os.path.join(folder, "events.1.ndjson")
        self._fd = self._open()
        self._size = os.fstat(self._fd).st_size

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        if not events or self._fd < 0:
            return
        data = _encode_events(at, iteration, events)
        try:
            if self._size + len(data) > MAX_EVENT_LOG_BYTES:
                self._rotate()
            self._size += os.write(self._fd, data)
        except OSError:
            self.close()  # a full disk costs the event log, never the run

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _rotate(self) -> None:
        os.close(self._fd)
        self._fd = -1
        os.replace(self._path, self._rotated_path)
        self._fd, self._size = self._open(), 0

    def _open(self) -> int:
        if os.path.islink(self._path):  # an agent's: what it leads to is not ours to write
            os.unlink(self._path)
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
