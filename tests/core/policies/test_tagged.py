"""The rule of `ralph run`, said directly: properties alone let a policy through that needs no claim."""

import pytest

from ralph.core.policies.tagged import TagPolicy
from ralph.core.step import Rules
from ralph.model.loop import Check, Checked, Limits, Outcome, Reported, RunAgent, Save, Stop
from support.scripted_world import AgentTurn, ScriptedEffects, play_loop

DONE = Reported(outcome="finished", text="<response>DONE</response>")
WORKING = Reported(outcome="finished", text="still at it")


def test_no_claim_never_completes() -> None:  # 001-18
    stop, _, _ = play_loop(
        Rules(TagPolicy(gates=("test",))), ScriptedEffects([AgentTurn(reported=WORKING)]), limits=Limits(3)
    )
    assert stop.outcome is Outcome.EXHAUSTED


def test_a_claim_with_a_red_guardrail_does_not_complete() -> None:  # 001-18
    world = ScriptedEffects([AgentTurn(reported=DONE, red=frozenset({"test"}))])
    stop, _, _ = play_loop(Rules(TagPolicy(gates=("lint", "test"))), world, limits=Limits(3))
    assert stop.outcome is Outcome.EXHAUSTED


def test_an_old_claim_does_not_count_for_a_later_green_run() -> None:
    world = ScriptedEffects([AgentTurn(reported=DONE, red=frozenset({"test"})), AgentTurn(reported=WORKING)])
    stop, _, _ = play_loop(Rules(TagPolicy(gates=("test",))), world, limits=Limits(3))
    assert stop.outcome is Outcome.EXHAUSTED


def test_a_claim_with_green_guardrails_completes() -> None:  # 001-04
    world = ScriptedEffects([AgentTurn(reported=DONE)])
    stop, _, _ = play_loop(Rules(TagPolicy(gates=("lint", "test"))), world)
    assert stop == Stop(Outcome.COMPLETED, "agent claimed <response>DONE</response>, 2 guardrails passed")
    assert world.saves == 0  # nobody asked for SCM tasks


def test_one_guardrail_is_told_as_one() -> None:
    stop, _, _ = play_loop(Rules(TagPolicy(gates=("test",))), ScriptedEffects([AgentTurn(reported=DONE)]))
    assert stop.why == "agent claimed <response>DONE</response>, 1 guardrail passed"


def test_the_order_is_agent_gates_scm_completion() -> None:  # 001-16, 001-24
    world = ScriptedEffects(
        [AgentTurn(reported=WORKING, red=frozenset({"test"})), AgentTurn(reported=WORKING), AgentTurn(reported=DONE)]
    )
    _, log, _ = play_loop(Rules(TagPolicy(gates=("test",), saves=True)), world)
    assert [type(d) for _, d in log] == [RunAgent, Check, RunAgent, Check, Save, RunAgent, Check, Save, Stop]
    assert world.saves == 2  # never when guardrails fail


def test_failures_reach_the_next_brief_and_only_that() -> None:  # 001-16
    world = ScriptedEffects([AgentTurn(reported=WORKING, red=frozenset({"lint", "test"})), AgentTurn(reported=WORKING)])
    play_loop(Rules(TagPolicy(gates=("lint", "test"))), world, limits=Limits(3))
    assert [[f.text for f in b.feedback] for b in world.briefs] == [[], ["lint: no", "test: no"], []]


def test_gates_are_numbered_by_their_iteration() -> None:  # 001-19
    world = ScriptedEffects([AgentTurn(reported=WORKING)])
    play_loop(Rules(TagPolicy(gates=("test",))), world, limits=Limits(3))
    assert world.checks == [1, 2, 3]


def test_a_baseline_is_checked_before_the_first_agent_and_saves_nothing() -> None:
    world = ScriptedEffects([AgentTurn(reported=DONE)])
    _, log, _ = play_loop(Rules(TagPolicy(gates=("test",), saves=True, baseline=True)), world)
    assert [type(d) for _, d in log] == [Check, RunAgent, Check, Save, Stop]
    assert world.checks == [0, 1]


def test_without_guardrails_there_is_no_baseline() -> None:
    world = ScriptedEffects([AgentTurn(reported=DONE)])
    _, log, _ = play_loop(Rules(TagPolicy(baseline=True)), world)
    assert [type(d) for _, d in log] == [RunAgent, Stop]


def test_a_red_baseline_is_feedback_for_the_first_agent() -> None:
    world = ScriptedEffects([AgentTurn(reported=DONE, red=frozenset({"test"}))])
    _, log, _ = play_loop(Rules(TagPolicy(gates=("test",), baseline=True)), world, limits=Limits(1))
    assert isinstance(log[1][0].fact, Checked)
    assert [f.text for f in world.briefs[0].feedback] == ["test: no"]


def test_without_guardrails_the_claim_alone_completes_and_says_so() -> None:
    stop, _, _ = play_loop(Rules(TagPolicy()), ScriptedEffects([AgentTurn(reported=DONE)]))
    assert stop.why == "agent claimed <response>DONE</response>, no guardrails configured"


@pytest.mark.parametrize("signal", ["promise", "file:DONE"])
def test_other_signals_complete_when_configured(signal: str) -> None:  # C4
    said = Reported(outcome="finished", text="<promise>DONE</promise>", present=("DONE",))
    stop, _, _ = play_loop(Rules(TagPolicy(signals=(signal,))), ScriptedEffects([AgentTurn(reported=said)]))
    assert stop.outcome is Outcome.COMPLETED
