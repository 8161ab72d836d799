"""The same events as lines of JSON: written for --json, read back from events.ndjson."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import get_args

import msgspec

from ralph.faces.cli.terminal.look import Look
from ralph.model.events import AgentEvent, Debugged, Event, Moment
from ralph.model.ports import Watcher

_OF_AGENTS = frozenset(get_args(AgentEvent))


class JsonDisplay:
    """A Watcher: one Moment a line, one write a call. `send` takes bytes and never raises."""

    def __init__(self, look: Look, send: Callable[[bytes], object]) -> None:
        self._look = look
        self._send = send
        self._encoder = msgspec.json.Encoder()

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        """Write what became known at one time."""
        moments = [Moment(at, iteration, event) for event in events if self._wanted(event)]
        if moments:
            self._send(self._lines(moments))

    def tick(self, now: float) -> None:
        """Time is no event."""

    def close(self) -> None:
        """Every line is whole already."""

    def _wanted(self, event: Event) -> bool:
        if isinstance(event, Debugged):
            return self._look.verbose
        return self._look.stream_agent_output or type(event) not in _OF_AGENTS

    def _lines(self, moments: Sequence[Moment]) -> bytes:
        try:
            return self._encoder.encode_lines(moments)
        except UnicodeEncodeError:  # half a character, as file names may hold: JSON for others has none
            return b"".join(map(_mended, moments))


def replay(lines: bytes, watcher: Watcher) -> int:
    """Show stored events again; how many lines could not be understood, a torn last one for instance."""
    rows = lines.splitlines()
    skipped = 0

    def known() -> Iterator[Moment]:
        nonlocal skipped
        decoder = msgspec.json.Decoder(Moment)
        for row in rows:
            try:
                yield decoder.decode(row)
            except (msgspec.DecodeError, UnicodeDecodeError):
                skipped += bool(row.strip())

    for (at, iteration), moments in groupby(known(), lambda moment: (moment.at, moment.iteration)):
        watcher(at, iteration, _events(moments))
    return skipped


def _events(moments: Iterable[Moment]) -> list[Event]:
    return [moment.event for moment in moments]


def _mended(moment: Moment) -> bytes:
    import json  # only for what msgspec refuses

    text = json.dumps(msgspec.to_builtins(moment), ensure_ascii=False)
    return text.encode("utf-8", "replace") + b"\n"
