"""The journal of one run, read to resume."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from ralph.core.policies.tagged import TagPolicy
from ralph.core.step import Rules
from ralph.engine.journal import replay_journal
from ralph.model.errors import CorruptState
from ralph.model.loop import Decision, Feedback, Limits, Outcome, Reported, RunAgent, Stop
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
    with pytest.raises(CorruptState, match="does not fit this version"):
        replay_journal(RULES, rows(RULES, other))
