"""What a run that was cut off leaves to its next life: what it tried in vain, what people told its last agent."""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TypeVar

import msgspec
from msgspec import Struct

from ralph.core.step import Rules, replay
from ralph.model.control import PersonNote
from ralph.model.loop import Observation, Outcome
from ralph.model.proofs import WorkTime
from ralph.model.runs import RunRecord
from ralph.model.standstill import Standstill
from ralph.model.store_ports import RunStore

_StateT = TypeVar("_StateT")
CUT_OFF_OUTCOMES = (None, "lost", "interrupted")


class EarlierLife(Struct, frozen=True, kw_only=True):
    """Of the same work."""

    standstill: Standstill = Standstill()
    pending_notes: tuple[PersonNote, ...] = ()  # notes for an agent that did not come to its end


def list_unfinished(latest: Iterable[RunRecord]) -> Iterator[RunRecord]:
    """Of these runs of the same work, the newest first, those since its last lawful end."""
    return takewhile(lambda run: run.outcome != Outcome.COMPLETED.value, latest)


def find_work_time(run: RunRecord, latest: Iterable[RunRecord]) -> WorkTime:
    """When its agents, and those of unfinished runs before it, were at work; between them a person was."""
    times, next_start = [], run.started_at
    for each in list_unfinished(latest):
        times.append((each.started_at, each.ended_at or next_start))
        next_start = each.started_at
    return WorkTime(since=run.started_at, earlier=tuple(times))


def read_earlier_life(runs: RunStore, latest: Iterable[RunRecord], rules: Rules[_StateT]) -> EarlierLife:
    """Of the newest of these runs. What it tried counts only if it was cut off: one that ended by itself is no part of
    this."""
    last = next(iter(latest), None)
    if last is None or last.outcome == "completed":
        return EarlierLife()
    try:
        rows = [msgspec.json.decode(seen, type=Observation) for seen, _ in runs.list_transitions(last.id)]
        state, _ = replay(rules, rows)
    except (msgspec.MsgspecError, ValueError):
        return EarlierLife()  # of another version
    if state is None:
        return EarlierLife()
    counts = last.outcome in CUT_OFF_OUTCOMES and state.limits.stuck is not None
    return EarlierLife(standstill=state.tally.standstill if counts else Standstill(), pending_notes=state.pending_notes)
