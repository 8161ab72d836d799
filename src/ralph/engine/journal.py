"""The journal of one run: written before anything is carried out, told to whoever watches, read to resume."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from ralph.core.narrative import build_events, is_cut_off
from ralph.core.step import Rules, replay
from ralph.model.errors import CorruptState, StateGone
from ralph.model.events import RunStarted
from ralph.model.loop import (
    Began,
    Decision,
    Limits,
    LoopState,
    Observation,
    Outcome,
    Resumed,
    RunAgent,
    Stop,
    Wait,
)
from ralph.model.ports import JournalRow, JournalStore, Watcher

_StateT = TypeVar("_StateT")
_encode = msgspec.json.Encoder().encode


class Journal:
    """Appends transitions. `written` is how many a resumed run already has."""

    def __init__(
        self,
        store: JournalStore,
        run: str,
        *,
        agent: str,
        watchers: Sequence[Watcher],
        written: int = 0,
        isolation: str = "",
        is_task: bool = False,
        hide: Callable[[str], str] = str,
    ) -> None:
        """`hide`: secrets in the words a run ends with, which many show."""
        self._store, self._hide = store, hide
        self._run, self._agent = run, agent
        self._isolation, self._is_task = isolation, is_task
        self._watchers = watchers
        self._written = written

    @property
    def written(self) -> int:
        """How many transitions there are."""
        return self._written

    def append(self, seen: Observation, state: LoopState[_StateT], decision: Decision) -> Decision:
        """On disk first, then told. What holds: the decision, or a Stop where it would be on no record."""
        self._written += 1
        if isinstance(decision, Stop):
            decision = replace(decision, why=self._hide(decision.why), question=self._hide(decision.question))
        iteration = state.tally.iterations + _is_in_agent_run(seen, state, decision)
        row: JournalRow = (
            self._run,
            self._written,
            seen.wall,
            seen.at,
            iteration,
            state.limits.iterations,
            state.tally.cost_usd,
            str(decision.__struct_config__.tag),
            _encode(seen),
            _encode(decision),
        )
        try:
            if isinstance(decision, Stop):
                self._store.append_last(row, decision.outcome.value, decision.why, decision.question)
            else:
                notes = decision.brief.notes if isinstance(decision, RunAgent) else ()
                self._store.append(row, [note.id for note in notes])
        except StateGone as gone:
            decision = Stop(Outcome.FAILED, gone.message)
        events = build_events(self._run, self._agent, seen=seen, state=state, decision=decision)
        if events and isinstance(events[0], RunStarted):
            events[0] = replace(events[0], isolation=self._isolation, is_task=self._is_task)
        for watch in self._watchers:
            watch(seen.wall, iteration, events)
        return decision


def _is_in_agent_run(seen: Observation, state: LoopState[_StateT], decision: Decision) -> bool:
    """Whether an iteration is under way that the tally does not count yet: one that starts, or was cut short."""
    return is_cut_off(seen, state) or isinstance(decision, RunAgent)


def read_last_limits(rows: Sequence[tuple[bytes, bytes]]) -> Limits | None:
    """Those its last life began with; None where that cannot be read."""
    try:
        for observation, _ in reversed(rows):
            fact = msgspec.json.decode(observation, type=Observation).fact
            if isinstance(fact, Began | Resumed):
                return fact.limits
    except (msgspec.DecodeError, ValueError):
        pass
    return None


def replay_journal(
    rules: Rules[_StateT], rows: Iterable[tuple[bytes, bytes]]
) -> tuple[LoopState[_StateT], list[Observation]]:
    """The state a journal leads to. Every decision is made again and must come out the same, but for its words: those
    are for people, and another version may say it better."""
    seen, decided = [], []
    try:
        for observation, decision in rows:
            seen.append(msgspec.json.decode(observation, type=Observation))
            decided.append(msgspec.json.decode(decision, type=Decision))
        state, decisions = replay(rules, seen)
    except (msgspec.DecodeError, ValueError) as error:
        raise CorruptState(f"the run's journal cannot be read: {error}", "start a new run") from error
    if state is None or [*map(_strip_words, decisions)] != [*map(_strip_words, decided)]:
        raise CorruptState("the run's journal is not compatible with this version of ralph", "start a new run")
    return state, seen


def _strip_words(decision: Decision) -> Decision:
    match decision:
        case Stop():
            return replace(decision, why="", question="")
        case Wait():
            return replace(decision, why="")
        case RunAgent(brief):
            return RunAgent(replace(brief, feedback=()))
        case _:
            return decision
