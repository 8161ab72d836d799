"""The journal of one run, read to resume."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from ralph.core.policies.tagged import TagPolicy
from ralph.core.step import Rules, step
from ralph.engine.journal import Journal, read_last_limits, replay_journal
from ralph.model.control import PersonNote
from ralph.model.errors import CorruptState, StateGone
from ralph.model.loop import (
    Began,
    Decision,
    Feedback,
    Interrupted,
    Limits,
    LoopState,
    Observation,
    Outcome,
    PauseLoop,
    Reported,
    Resumed,
    RunAgent,
    Stop,
    Waited,
)
from support.scripted_world import AgentTurn, ScriptedEffects, play_loop

RULES = Rules(TagPolicy(gates=("test",)))
MISPLACED = Reported(outcome="finished", text="<promise>DONE</promise>, I think")


def rows(rules: Rules[Any], *decided: Decision) -> list[tuple[bytes, bytes]]:
    """The journal of two iterations; the last decisions are these instead."""
    _, log, _ = play_loop(rules, ScriptedEffects([AgentTurn(reported=MISPLACED)]), limits=Limits(2))
    decisions = [decision for _, decision in log]
    decisions[len(decisions) - len(decided) :] = decided
    encode = msgspec.json.encode
    return [(encode(seen), encode(decision)) for (seen, _), decision in zip(log, decisions, strict=True)]


def test_the_words_of_another_version_do_no_harm() -> None:
    old = Stop(Outcome.EXHAUSTED, "maximum iterations reached (2) without completion")
    state, seen = replay_journal(RULES, rows(RULES, old))
    assert (state.tally.iterations, len(seen)) == (2, 5)


def test_what_another_version_told_the_agent_does_no_harm() -> None:
    rules = Rules(TagPolicy(signals=("promise",)))
    journal = rows(rules)
    at, brief = next(
        (at, decision.brief)
        for at, (_, row) in enumerate(journal)
        if isinstance(decision := msgspec.json.decode(row, type=Decision), RunAgent) and decision.brief.feedback
    )
    for other in ((), (Feedback("something else"),)):
        journal[at] = (journal[at][0], msgspec.json.encode(RunAgent(replace(brief, feedback=other))))
        assert replay_journal(rules, journal)[0].tally.iterations == 2


@pytest.mark.parametrize("other", [Stop(Outcome.COMPLETED, ""), Stop(Outcome.EXHAUSTED, "", lasting=True)])
def test_another_decision_is_refused(other: Decision) -> None:
    with pytest.raises(CorruptState, match="is not compatible with this version"):
        replay_journal(RULES, rows(RULES, other))


class KeptRows:
    """A store in memory; `gone`: it says that nobody would find a row."""

    def __init__(self, gone: bool = False) -> None:
        self.rows: list[Any] = []
        self.end: tuple[str, str] | None = None
        self.gone = gone
        self.heard: list[int] = []
        self.question = ""

    def append(self, row: Any, heard: Sequence[int] = ()) -> None:
        if self.gone:
            raise StateGone("the database was deleted", "")
        self.rows.append(row)
        self.heard += heard

    def append_last(self, row: Any, outcome: str, why: str, question: str = "") -> None:
        self.append(row)
        self.end, self.question = (outcome, why), question


def write_journal(store: KeptRows, written: int = 0) -> tuple[list[Decision], list[tuple[float, int, list[str]]]]:
    """The transitions of a run of one iteration; what held, and what watchers heard of it."""
    heard: list[tuple[float, int, list[str]]] = []
    journal = Journal(
        store,
        "run-1",
        agent="claude",
        watchers=[lambda wall, iteration, events: heard.append((wall, iteration, [type(e).__name__ for e in events]))],
        written=written,
    )
    _, log, _ = play_loop(RULES, ScriptedEffects([AgentTurn(reported=MISPLACED)]), limits=Limits(1))
    state: LoopState[Any] | None = None
    held = []
    for seen, _ in log:
        state, decision = step(RULES, state, seen)
        held.append(journal.append(seen, state, decision))
    return held, heard


def test_each_transition_is_a_row_and_is_told_after() -> None:
    store = KeptRows()
    held, heard = write_journal(store)
    assert [(row[0], row[1], row[4], row[5], row[7]) for row in store.rows] == [
        ("run-1", 1, 1, 1, "run_agent"),
        ("run-1", 2, 1, 1, "check"),
        ("run-1", 3, 1, 1, "stop"),
    ]
    assert [msgspec.json.decode(row[9], type=Decision) for row in store.rows] == held
    assert [msgspec.json.decode(row[8], type=Observation).wall for row in store.rows] == [w for w, _, _ in heard]
    assert store.end is not None
    assert store.end[0] == "exhausted"
    assert store.end[1].startswith("maximum iterations reached")
    assert [(iteration, events) for _, iteration, events in heard] == [
        (1, ["RunStarted", "IterationStarted"]),
        (1, ["AgentEnded", "Debugged"]),
        (1, ["RunEnded"]),
    ]


def test_a_later_life_goes_on_counting() -> None:
    store = KeptRows()
    write_journal(store, written=7)
    assert [row[1] for row in store.rows] == [8, 9, 10]


def test_an_iteration_that_was_cut_off_is_named_by_its_number() -> None:
    store = KeptRows()
    journal = Journal(store, "run-1", agent="claude", watchers=[])
    state, decision = step(RULES, None, Observation(fact=Began(Limits(3))))
    journal.append(Observation(fact=Began(Limits(3))), state, decision)
    cut = Observation(fact=Interrupted("SIGINT"))
    state, decision = step(RULES, state, cut)
    journal.append(cut, state, decision)
    assert [row[4] for row in store.rows] == [1, 1]


def test_what_is_on_no_record_becomes_a_stop() -> None:
    held, heard = write_journal(KeptRows(gone=True))
    assert held == [Stop(Outcome.FAILED, "the database was deleted")] * 3
    assert heard[0][2][-1] == "RunEnded"


def test_the_last_limits_are_those_of_the_last_life() -> None:
    encode = msgspec.json.encode
    lives = [(encode(Observation(fact=fact)), b"") for fact in (Began(Limits(1)), Resumed(Limits(2)), MISPLACED)]
    assert read_last_limits(lives) == Limits(2)
    assert read_last_limits(lives[:1]) == Limits(1)
    assert read_last_limits([]) is None
    assert read_last_limits([(b"{", b"")]) is None


def test_a_journal_that_cannot_be_read_is_refused() -> None:
    for broken in ([], [(b"{", b"{}")]):
        with pytest.raises(CorruptState):
            replay_journal(RULES, broken)


def test_notes_are_heard_with_the_row_that_tells_them_and_a_question_is_asked_with_the_end() -> None:
    store, note = KeptRows(), PersonNote(id=7, text="Use tabs", by="alex")
    journal = Journal(store, "run-1", agent="claude", watchers=[])
    asked = Reported(outcome="finished", text="<question>Why?</question>")
    state: LoopState[Any] | None = None
    for seen in (
        Observation(fact=Began(Limits(3)), paused_by="alex", notes=(note,)),
        Observation(fact=Waited(), notes=(note,)),
        Observation(fact=asked),
    ):
        state, decision = step(RULES, state, seen)
        journal.append(seen, state, decision)
        assert store.heard == ([] if decision == PauseLoop("alex") else [7])
    assert [row[7] for row in store.rows] == ["pause", "run_agent", "stop"]
    assert (store.end, store.question) == (("blocked", "the agent asks: Why?"), "Why?")
