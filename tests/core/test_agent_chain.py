"""Who takes over from whom, and until when."""

from typing import Any

import pytest

from ralph.core.agent_chain import find_first_end
from ralph.core.policies.tagged import TagPolicy
from ralph.core.step import Rules, replay
from ralph.model.agent_chain import AgentChain, OnLimit, Rest
from ralph.model.loop import Limits, Outcome, Patience, Reported, RunAgent, Stop, Wait
from ralph.model.standstill import StuckLimits
from support.scripted_world import AgentTurn, ScriptedEffects, play_loop

START = 1_000_000  # the wall clock of the scripted world
DONE = AgentTurn(reported=Reported(outcome="finished", text="<response>DONE</response>"))
LIMITED = AgentTurn(reported=Reported(outcome="limited", detail="Limit.", reset_at=START + 600.0))
UNTOLD = AgentTurn(reported=Reported(outcome="limited", detail="Limit."))
NO_KEY = AgentTurn(reported=Reported(outcome="unusable", detail="No key."))
BUSY = AgentTurn(reported=Reported(outcome="overloaded", detail="Busy."))
RULES = Rules(TagPolicy(), Patience(max_wait=6 * 3600.0))


def played(*turns: AgentTurn, chain: AgentChain, **limits: Any) -> tuple[Stop, list[str], list[float]]:
    """How it ended, who was started, how long was waited."""
    world = ScriptedEffects(turns)
    stop, log, _ = play_loop(RULES, world, limits=Limits(5, chain=chain, **limits))
    assert replay(RULES, (seen for seen, _ in log))[1] == [decision for _, decision in log]
    return stop, [brief.agent for brief in world.briefs], world.waits


@pytest.mark.parametrize("turn", [LIMITED, UNTOLD, NO_KEY])
def test_the_next_one_takes_over_at_once(turn: AgentTurn) -> None:
    stop, agents, waits = played(turn, DONE, chain=AgentChain(others=("codex",)))
    assert (stop.outcome, agents, waits) == (Outcome.COMPLETED, ["", "codex"], [])


def test_an_overloaded_service_is_waited_for_by_the_same() -> None:
    stop, agents, waits = played(BUSY, DONE, chain=AgentChain(others=("codex",)))
    assert (stop.outcome, agents, len(waits)) == (Outcome.COMPLETED, ["", ""], 1)


def test_when_all_are_at_their_limits_the_first_end_is_waited_for() -> None:
    later = AgentTurn(reported=Reported(outcome="limited", detail="Limit.", reset_at=START + 9000.0))
    stop, agents, waits = played(later, LIMITED, DONE, chain=AgentChain(others=("codex",)))
    assert (stop.outcome, agents) == (Outcome.COMPLETED, ["", "codex", "codex"])
    assert [590 < wait < 610 for wait in waits] == [True]


def test_who_has_rested_works_again() -> None:
    working = AgentTurn(reported=Reported(outcome="finished", text="at it"))
    world = ScriptedEffects([LIMITED, working, working, DONE], seconds_per_step=250)
    play_loop(RULES, world, limits=Limits(5, chain=AgentChain(others=("codex",))))
    assert [brief.agent for brief in world.briefs] == ["", "codex", "", ""]


def test_a_key_that_is_not_accepted_is_not_tried_again() -> None:
    stop, agents, waits = played(NO_KEY, LIMITED, DONE, chain=AgentChain(others=("codex",)))
    assert (stop.outcome, agents, len(waits)) == (Outcome.COMPLETED, ["", "codex", "codex"], 1)


def test_none_that_can_be_used_ends_it() -> None:
    stop, agents, _ = played(NO_KEY, NO_KEY, chain=AgentChain(others=("codex",)))
    assert (stop.outcome, agents) == (Outcome.UNUSABLE, ["", "codex"])


@pytest.mark.parametrize(
    ("on_limit", "outcome", "agents"),
    [
        ("switch", Outcome.COMPLETED, ["", "codex"]),
        ("wait", Outcome.COMPLETED, ["", ""]),
        ("stop", Outcome.FAILED, [""]),
    ],
)
def test_what_a_limit_does_can_be_chosen(on_limit: OnLimit, outcome: Outcome, agents: list[str]) -> None:
    found = played(LIMITED, DONE, chain=AgentChain(others=("codex",), on_limit=on_limit))
    assert (found[0].outcome, found[1]) == (outcome, agents)


@pytest.mark.parametrize(("on_limit", "outcome"), [("wait", Outcome.COMPLETED), ("stop", Outcome.FAILED)])
def test_an_agent_alone_waits_or_stops(on_limit: OnLimit, outcome: Outcome) -> None:
    assert played(LIMITED, DONE, chain=AgentChain(on_limit=on_limit))[0].outcome is outcome
    assert played(NO_KEY, chain=AgentChain(on_limit=on_limit))[0].outcome is Outcome.UNUSABLE


def test_an_escalation_that_cannot_work_leaves_it_to_the_first() -> None:
    still = AgentTurn(reported=Reported(outcome="finished", text="hm", tree="h T"))
    stuck = StuckLimits(agent="escalate")
    _, agents, _ = played(still, still, still, NO_KEY, still, chain=AgentChain(on_limit="wait"), stuck=stuck)
    assert agents[:5] == ["", "", "", "escalate", ""]


def test_an_old_journal_knows_no_chain() -> None:
    world = ScriptedEffects([LIMITED, DONE])
    _, log, _ = play_loop(RULES, world, limits=Limits(3))
    assert [type(decision) for _, decision in log] == [RunAgent, Wait, RunAgent, Stop]


def test_only_agents_of_the_chain_are_waited_for() -> None:
    resting = (Rest("gone", START + 60.0), Rest("", START + 600.0), Rest("codex", START + 300.0))
    assert find_first_end(AgentChain(others=("codex",)), resting) == START + 300.0
    assert find_first_end(AgentChain(), resting) == START + 600.0
    assert find_first_end(AgentChain(others=("codex",)), resting[:1]) is None
