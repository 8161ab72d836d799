"""The rule of `ralph run`, said directly: properties alone let a policy through that needs no claim."""

import pytest
from msgspec.structs import replace

from ralph.core.policies.tagged import TagPolicy
from ralph.core.step import Rules
from ralph.model.loop import Check, Checked, Limits, Outcome, Reported, Resumed, RunAgent, Save, Stop
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


# -- refusals --------------------------------------------------------------------------------------
REFUSED = Reported(
    outcome="refused",
    text=DONE.text,
    detail='The agent was refused `npm test`. Allow it: --allow "npm test", or agent.allow.',
    refused_tools=("Bash",),
    refused_commands=("npm test",),
)
REFUSED_AT_WORK = replace(REFUSED, text="still at it")


def test_a_refusal_voids_no_claim_that_guardrails_confirm() -> None:  # C28
    stop, _, _ = play_loop(Rules(TagPolicy(gates=("test",))), ScriptedEffects([AgentTurn(reported=REFUSED)]))
    assert stop == Stop(Outcome.COMPLETED, "agent claimed <response>DONE</response>, 1 guardrail passed")


def test_without_guardrails_a_refused_run_claims_nothing() -> None:  # C28
    stop, _, _ = play_loop(Rules(TagPolicy()), ScriptedEffects([AgentTurn(reported=REFUSED)]), limits=Limits(1))
    assert stop.outcome is Outcome.EXHAUSTED


def test_a_refusal_with_a_red_guardrail_does_not_complete() -> None:  # C28
    world = ScriptedEffects([AgentTurn(reported=REFUSED, red=frozenset({"test"}))])
    stop, _, _ = play_loop(Rules(TagPolicy(gates=("test",))), world, limits=Limits(1))
    assert stop.outcome is Outcome.EXHAUSTED


def test_a_refusal_that_an_older_version_recorded_claims_nothing() -> None:
    old = replace(REFUSED, refused_tools=(), refused_commands=())
    world = ScriptedEffects([AgentTurn(reported=old)])
    stop, _, _ = play_loop(Rules(TagPolicy(gates=("test",))), world, limits=Limits(3))
    assert stop.outcome is Outcome.EXHAUSTED


def test_the_next_agent_hears_what_was_refused_and_what_it_may_run() -> None:
    report = replace(REFUSED, refused_commands=("python3 x.py",), permitted_commands=("make test", "git add *"))
    turns = [AgentTurn(reported=report), AgentTurn(reported=WORKING), AgentTurn(reported=DONE)]
    for gates in ((), ("test",)):
        turns[0] = replace(turns[0], red=frozenset(gates))
        world = ScriptedEffects(turns)
        play_loop(Rules(TagPolicy(gates=gates)), world)
        told = [" ".join(each.text for each in brief.feedback) for brief in world.briefs]
        assert told[0] == told[2] == ""
        assert "refused `python3 x.py`" in told[1]
        assert "you may run `make test` and `git add *`" in told[1]


def test_two_runs_refused_alike_stop_with_the_thing_to_type() -> None:
    world = ScriptedEffects([AgentTurn(reported=REFUSED_AT_WORK)])
    stop, _, _ = play_loop(Rules(TagPolicy(gates=("test",))), world)
    assert (stop.outcome, stop.outcome.exit_code, len(world.briefs)) == (Outcome.UNUSABLE, 2, 2)
    assert '--allow "npm test"' in stop.why


@pytest.mark.parametrize(
    "second",
    [
        WORKING,
        replace(REFUSED_AT_WORK, refused_commands=("npm run lint",)),
        replace(REFUSED_AT_WORK, refused_tools=("Bash", "Write")),
        replace(REFUSED_AT_WORK, tree="another"),
    ],
)
def test_other_refusals_or_another_tree_begin_the_count_again(second: Reported) -> None:
    turns = [AgentTurn(reported=REFUSED_AT_WORK), AgentTurn(reported=second)] * 3
    stop, _, _ = play_loop(Rules(TagPolicy(gates=("test",))), ScriptedEffects(turns), limits=Limits(6))
    assert stop.outcome is Outcome.EXHAUSTED


def test_a_run_stopped_by_refusals_can_be_resumed() -> None:
    rules = Rules(TagPolicy(gates=("test",)))
    _, _, state = play_loop(rules, ScriptedEffects([AgentTurn(reported=REFUSED_AT_WORK)]))
    stop, _, _ = play_loop(rules, ScriptedEffects([AgentTurn(reported=DONE)]), state=state, fact=Resumed(Limits()))
    assert stop.outcome is Outcome.COMPLETED


# -- a promise out of place ------------------------------------------------------------------------
MISPLACED = Reported(outcome="finished", text="<promise>DONE</promise> is what I will say")
CORRECTION = "You wrote the promise, but not alone on the last line: end your answer with it."


@pytest.mark.parametrize(
    ("gates", "red", "told"),
    [((), (), [CORRECTION]), (("test",), (), [CORRECTION]), (("test",), ("test",), ["test: no", CORRECTION])],
)
def test_a_promise_that_is_not_on_the_last_line_is_told_to_the_next_run(
    gates: tuple[str, ...], red: tuple[str, ...], told: list[str]
) -> None:  # C1
    world = ScriptedEffects([AgentTurn(reported=MISPLACED, red=frozenset(red)), AgentTurn(reported=WORKING)])
    play_loop(Rules(TagPolicy(gates=gates, signals=("promise",))), world, limits=Limits(3))
    assert [[item.text for item in brief.feedback] for brief in world.briefs] == [[], told, []]


@pytest.mark.parametrize(
    ("signals", "text"),
    [
        (("response",), MISPLACED.text),  # nobody waits for a promise
        (("promise",), "<promise>OTHER</promise> is what I will say"),
        (("promise",), "not a word of it"),
    ],
)
def test_other_words_are_no_promise_out_of_place(signals: tuple[str, ...], text: str) -> None:
    world = ScriptedEffects([AgentTurn(reported=replace(MISPLACED, text=text))])
    play_loop(Rules(TagPolicy(signals=signals)), world, limits=Limits(2))
    assert [brief.feedback for brief in world.briefs] == [(), ()]


@pytest.mark.parametrize("signal", ["promise", "file:DONE"])
def test_other_signals_complete_when_configured(signal: str) -> None:  # C4
    said = Reported(outcome="finished", text="<promise>DONE</promise>", present=("DONE",))
    stop, _, _ = play_loop(Rules(TagPolicy(signals=(signal,))), ScriptedEffects([AgentTurn(reported=said)]))
    assert stop.outcome is Outcome.COMPLETED
