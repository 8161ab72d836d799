"""Use case: hear what all running agents do, as it happens."""

import os
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from ralph.app.board.view import Slot
from ralph.app.paths import Places
from ralph.app.runs.tail import Tail
from ralph.model.events import Event, IterationStarted, Moment
from ralph.model.spec import ROLES

AT_ONCE = 1 << 16  # bytes of one run at one time: more nobody can read


class Heard(Struct, frozen=True):
    """Something happened in a run."""

    at: float
    run: str
    who: str  # its task, or the kind of its loop
    role: str
    event: Event


class Live:
    """Follows the runs it is told of; those that ended are heard out."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._tails: dict[str, Tail] = {}
        self._slots: dict[str, Slot] = {}
        self._roles: dict[str, str] = {}
        self._decoder = msgspec.json.Decoder(Moment)

    def heard(self, running: Sequence[Slot]) -> list[Heard]:
        """What happened since the last time, in order."""
        for slot in running:
            self._slots[slot.run] = slot
            if slot.run not in self._tails:
                self._roles[slot.run] = slot.role
                self._tails[slot.run] = Tail(os.path.join(self._places.records(slot.run), "events.ndjson"), AT_ONCE)
        blocks = [(run, block) for run, tail in self._tails.items() for block in tail.blocks()]
        found = [heard for run, block in blocks for heard in self._of(run, block)]
        for ended in self._tails.keys() - {slot.run for slot in running}:
            self._tails.pop(ended).close()
            del self._slots[ended], self._roles[ended]
        return sorted(found, key=lambda heard: heard.at)

    def close(self) -> None:
        """No more."""
        for tail in self._tails.values():
            tail.close()
        self._tails.clear()

    def _of(self, run: str, block: bytes) -> list[Heard]:
        moments = (self._moment(line) for line in block.splitlines())
        return [self._told(run, moment) for moment in moments if moment is not None]

    def _told(self, run: str, moment: Moment) -> Heard:
        slot, event = self._slots[run], moment.event
        if isinstance(event, IterationStarted) and (role := event.about.partition(" ")[0]) in ROLES:
            self._roles[run] = role  # what is told may be older than what the slot says
        role = self._roles[run]
        return Heard(moment.at, run, slot.task or role, role, event)

    def _moment(self, line: bytes) -> Moment | None:
        try:
            return self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None  # torn, or of another ralph
