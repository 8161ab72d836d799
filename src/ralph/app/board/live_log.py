"""Use case: hear what all running agents do, as it happens."""

import os
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from ralph.app.board.view import WorkerSlot
from ralph.app.paths import Paths
from ralph.app.runs.tail import FileTail
from ralph.model.events import Event, EventRecord, IterationStarted
from ralph.model.spec import ROLES

MAX_LOG_BYTES_PER_READ = 1 << 16  # bytes of one run at one time: more nobody can read


class LiveEvent(Struct, frozen=True, kw_only=True):
    """Something happened in a run."""

    at: float
    run: str
    label: str  # its task, or the kind of its loop
    role: str
    event: Event


def read_ended_run(places: Paths, run: str, label: str) -> list[LiveEvent]:
    """The end of what a run said that nobody follows any more; none where nothing was kept."""
    log = LiveLog(places)
    try:
        return log.read_events([WorkerSlot(number=1, run=run, role=label, task=label)])
    finally:
        log.close()


class LiveLog:
    """Follows the runs it is told of; those that ended are heard out."""

    def __init__(self, places: Paths) -> None:
        self._paths = places
        self._tails: dict[str, FileTail] = {}
        self._slots: dict[str, WorkerSlot] = {}
        self._roles: dict[str, str] = {}
        self._decoder = msgspec.json.Decoder(EventRecord)

    def read_events(self, running: Sequence[WorkerSlot]) -> list[LiveEvent]:
        """What happened since the last time, in order."""
        for slot in running:
            self._slots[slot.run] = slot
            if slot.run not in self._tails:
                self._roles[slot.run] = slot.role
                self._tails[slot.run] = FileTail(
                    os.path.join(self._paths.run_dir(slot.run), "events.ndjson"), MAX_LOG_BYTES_PER_READ
                )
        blocks = [(run, block) for run, tail in self._tails.items() for block in tail.read_blocks()]
        found = [event for run, block in blocks for event in self._parse_block(run, block)]
        for ended in self._tails.keys() - {slot.run for slot in running}:
            self._tails.pop(ended).close()
            del self._slots[ended], self._roles[ended]
        return sorted(found, key=lambda event: event.at)

    def close(self) -> None:
        for tail in self._tails.values():
            tail.close()
        self._tails.clear()

    def _parse_block(self, run: str, block: bytes) -> list[LiveEvent]:
        records = (self._parse_line(line) for line in block.splitlines())
        return [self._to_live_event(run, record) for record in records if record is not None]

    def _to_live_event(self, run: str, record: EventRecord) -> LiveEvent:
        slot, event = self._slots[run], record.event
        if isinstance(event, IterationStarted) and (role := event.about.partition(" ")[0]) in ROLES:
            self._roles[run] = role  # what is told may be older than what the slot says
        role = self._roles[run]
        return LiveEvent(at=record.at, run=run, label=slot.task or slot.title or role, role=role, event=event)

    def _parse_line(self, line: bytes) -> EventRecord | None:
        try:
            return self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None  # torn, or of another ralph
