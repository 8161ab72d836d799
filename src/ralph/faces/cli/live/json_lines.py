"""The same events as lines of JSON: written for --json, read back from events.ndjson."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import get_args

import msgspec

from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.model.events import AgentEvent, Debugged, Event, EventRecord
from ralph.model.ports import Watcher

_AGENT_EVENT_TYPES = frozenset(get_args(AgentEvent))


class JsonDisplay:
    """A Watcher that writes an EventRecord a line. `send` takes bytes and never raises."""

    def __init__(self, style: TerminalStyle, send: Callable[[bytes], object]) -> None:
        self._style = style
        self._send = send
        self._encoder = msgspec.json.Encoder()

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        """Write the events of one moment in one write."""
        records = [EventRecord(at, iteration, event) for event in events if self._is_wanted(event)]
        if records:
            self._send(self._encode_lines(records))

    has_status_line = False

    def tick(self, now: float) -> None: ...

    def close(self) -> None: ...

    def _is_wanted(self, event: Event) -> bool:
        if isinstance(event, Debugged):
            return self._style.verbose
        return self._style.stream_agent_output or type(event) not in _AGENT_EVENT_TYPES

    def _encode_lines(self, records: Sequence[EventRecord]) -> bytes:
        try:
            return self._encoder.encode_lines(records)
        except UnicodeEncodeError:  # half a character, as file names may hold: JSON for others has none
            return b"".join(map(_encode_lossy, records))


def replay_events(lines: bytes, watcher: Watcher) -> int:
    """Shows stored events again; returns how many lines could not be decoded, such as a torn last one."""
    rows = lines.splitlines()
    skipped = 0

    def known() -> Iterator[EventRecord]:
        nonlocal skipped
        decoder = msgspec.json.Decoder(EventRecord)
        for row in rows:
            try:
                yield decoder.decode(row)
            except (msgspec.DecodeError, UnicodeDecodeError):
                skipped += bool(row.strip())

    for (at, iteration), records in groupby(known(), lambda record: (record.at, record.iteration)):
        watcher(at, iteration, _extract_events(records))
    return skipped


def _extract_events(records: Iterable[EventRecord]) -> list[Event]:
    return [record.event for record in records]


def _encode_lossy(record: EventRecord) -> bytes:
    import json  # only for what msgspec refuses

    text = json.dumps(msgspec.to_builtins(record), ensure_ascii=False)
    return text.encode("utf-8", "replace") + b"\n"
