"""The rules common to all loops: limits, budget, waiting, interruption, resuming."""

from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.core.policies.tagged import TaggedState, TagPolicy
from ralph.core.step import Rules, replay, step
from ralph.model.events import Usage
from ralph.model.loop import (
    Began,
    Check,
    Checked,
    Decision,
    Fact,
    GateResult,
    Interrupted,
    Limits,
    LoopState,
    Observation,
    Outcome,
    Patience,
    RefusalStreak,
    Reported,
    Resumed,
    RunAgent,
    RunOutcome,
    Save,
    Saved,
    SnapshotTaken,
    Stop,
    TakeSnapshot,
    Tally,
    Verified,
    Wait,
)
from support.scripted_world import AgentTurn, ScriptedEffects, play_loop

DONE = Reported(outcome="finished", text="<response>DONE</response>", cost_usd=0.5)
WORKING = Reported(outcome="finished", text="still at it", cost_usd=0.5)
GATES = ("lint", "test")

reports = st.builds(
    Reported,
    outcome=st.sampled_from(get_args(RunOutcome)),
    text=st.sampled_from(["", "working", "<response>DONE</response>"]),
    cost_usd=st.sampled_from([None, 0.25]),
    reset_at=st.sampled_from([None, 1_000_050.0]),
    unseen=st.booleans(),
)
turns = st.builds(
    AgentTurn,
    reported=reports,
    red=st.frozensets(st.sampled_from(GATES)),
    interrupted=st.sampled_from(["", "", "", "SIGTERM"]),
    cut_short=st.sampled_from([False, False, False, True]),
)
scripts = st.lists(turns, min_size=1, max_size=8)
rules = st.builds(
    Rules,
    st.builds(TagPolicy, gates=st.sampled_from([(), GATES]), saves=st.booleans(), baseline=st.booleans()),
    st.just(Patience(retries=3, delay=1.0, longest=4.0, empty_retries=2)),
)
all_limits = st.builds(Limits, st.integers(1, 6), st.sampled_from([None, 20.0]), st.sampled_from([None, 1.0]))
many = settings(max_examples=200, deadline=None)


@many
@given(rules, scripts, all_limits)
def test_no_loop_runs_more_often_than_allowed_and_each_ends(
    rules: Rules[object], script: list[AgentTurn], limits: Limits
) -> None:
    world = ScriptedEffects(script)
    _, log, state = play_loop(rules, world, limits=limits)
    assert state.tally.iterations <= limits.iterations
    counted = [s for s, _ in log if isinstance(s.fact, Reported)]
    assert len(counted) <= len(world.briefs)


@many
@given(rules, scripts, all_limits)
def test_nothing_is_started_once_the_budget_is_spent_or_the_time_is_up(
    rules: Rules[object], script: list[AgentTurn], limits: Limits
) -> None:
    _, log, _ = play_loop(rules, ScriptedEffects(script), limits=limits)
    spent = 0.0
    for seen, decision in log:
        if isinstance(seen.fact, Reported):
            spent += seen.fact.cost_usd or 0.0
        if isinstance(decision, (RunAgent, Save)):
            assert limits.cost_usd is None or spent < limits.cost_usd
            assert limits.seconds is None or seen.at < limits.seconds


@many
@given(rules, scripts, all_limits)
def test_completed_only_after_a_claim_with_every_gate_green(
    rules: Rules[object], script: list[AgentTurn], limits: Limits
) -> None:
    stop, log, _ = play_loop(rules, ScriptedEffects(script), limits=limits)
    if stop.outcome is Outcome.COMPLETED:
        last = next(s.fact for s, _ in reversed(log) if isinstance(s.fact, Reported))
        assert last.outcome == "finished"
        assert last.text == "<response>DONE</response>"
        checks = [s.fact for s, _ in log if isinstance(s.fact, Checked)]
        assert not (checks and checks[-1].failures)


@many
@given(rules, scripts, all_limits)
def test_folding_step_over_the_journal_makes_every_decision_again(
    rules: Rules[object], script: list[AgentTurn], limits: Limits
) -> None:
    _, log, state = play_loop(rules, ScriptedEffects(script), limits=limits)
    stored = [msgspec.json.decode(msgspec.json.encode(seen), type=Observation) for seen, _ in log]
    decisions = [msgspec.json.decode(msgspec.json.encode(d), type=Decision) for _, d in log]
    assert replay(rules, stored) == (state, decisions)


@many
@given(rules, scripts)
def test_an_interruption_stops_the_loop_at_once(rules: Rules[object], script: list[AgentTurn]) -> None:
    stop, log, _ = play_loop(rules, ScriptedEffects(script))
    interrupted = [i for i, (s, _) in enumerate(log) if isinstance(s.fact, Interrupted) or s.interrupted_by]
    after = [decision for _, decision in log[interrupted[0] : -1]] if interrupted else []
    assert all(isinstance(decision, TakeSnapshot) for decision in after)  # of the agent that may finish
    assert (stop.outcome is Outcome.INTERRUPTED) == bool(interrupted)


@pytest.mark.parametrize(
    ("limits", "outcome", "why"),
    [
        (Limits(2), Outcome.EXHAUSTED, "maximum iterations reached (2) without completion"),
        (Limits(10, seconds=5), Outcome.EXHAUSTED, "time limit of 5s reached"),
        (Limits(10, cost_usd=1), Outcome.OVER_BUDGET, "$1.00 of the $1.00 budget spent"),
    ],
)
def test_each_limit_names_itself(limits: Limits, outcome: Outcome, why: str) -> None:  # 001-04
    world = ScriptedEffects([AgentTurn(reported=WORKING)])
    stop, _, _ = play_loop(Rules(TagPolicy(gates=GATES)), world, limits=limits)
    never = "guardrails were green in 2 of 2 iterations, but the agent never answered <response>DONE</response>"
    assert stop == Stop(outcome, f"{why}: {never}")


def test_the_last_permitted_run_is_still_judged() -> None:
    assert (
        play_loop(
            Rules(TagPolicy(gates=GATES)), ScriptedEffects([AgentTurn(reported=DONE)]), limits=Limits(1, cost_usd=0.1)
        )[0].outcome
        is Outcome.COMPLETED
    )


def test_scm_tasks_are_skipped_not_the_verdict_when_the_budget_is_spent() -> None:
    world = ScriptedEffects([AgentTurn(reported=DONE)])
    stop, _, _ = play_loop(Rules(TagPolicy(gates=GATES, saves=True)), world, limits=Limits(3, cost_usd=0.5))
    assert stop.outcome is Outcome.COMPLETED
    assert world.saves == 0
    assert "SCM tasks skipped: $0.50 of the $0.50 budget spent" in stop.why


def test_the_agent_is_told_what_is_left_of_the_budget() -> None:
    world = ScriptedEffects([AgentTurn(reported=WORKING)])
    play_loop(Rules(TagPolicy()), world, limits=Limits(10, cost_usd=1.2))
    assert [round(b.budget_usd or 0, 2) for b in world.briefs] == [1.2, 0.7, 0.2]


@pytest.mark.parametrize("outcome", ["limited", "overloaded", "offline"])
def test_trouble_that_is_not_the_agents_waits_longer_each_time_and_spends_no_iteration(outcome: RunOutcome) -> None:
    trouble = Reported(outcome=outcome, detail="No luck.")
    world = ScriptedEffects([*[AgentTurn(reported=trouble)] * 4, AgentTurn(reported=DONE)])
    stop, _, state = play_loop(Rules(TagPolicy(), Patience(retries=12, delay=5, longest=30)), world, limits=Limits(1))
    assert stop.outcome is Outcome.COMPLETED
    assert world.waits == [5, 10, 20, 30]
    assert state.tally.iterations == 1


def test_a_told_reset_time_is_waited_for() -> None:
    world = ScriptedEffects(
        [AgentTurn(reported=Reported(outcome="limited", reset_at=1_003_600.0)), AgentTurn(reported=DONE)]
    )
    play_loop(Rules(TagPolicy()), world)
    assert world.waits == [pytest.approx(3600 - 2 + 5, abs=1)]


def test_a_wait_that_would_pass_the_time_limit_is_not_begun() -> None:
    world = ScriptedEffects(
        [AgentTurn(reported=Reported(outcome="limited", detail="Usage limit.", reset_at=1_003_600.0))]
    )
    stop, _, _ = play_loop(Rules(TagPolicy()), world, limits=Limits(10, seconds=600))
    assert stop.outcome is Outcome.EXHAUSTED
    assert stop.why.startswith("Usage limit. Waiting 36")
    assert not world.waits


LIMITED = AgentTurn(reported=Reported(outcome="limited", detail="Usage limit."))


def test_a_limit_is_waited_for_by_the_clock_not_by_tries() -> None:
    world = ScriptedEffects([*[LIMITED] * 20, AgentTurn(reported=DONE)])
    patience = Patience(retries=3, delay=1, longest=60, max_wait=3600.0)
    stop, _, state = play_loop(Rules(TagPolicy(), patience), world, limits=Limits(1))
    assert (stop.outcome, len(world.waits), state.tally.limit_seconds) == (Outcome.COMPLETED, 20, 0.0)


def test_a_limit_is_not_waited_for_longer_than_allowed() -> None:
    patience = Patience(retries=3, delay=100, longest=100, max_wait=250.0)
    world = ScriptedEffects([LIMITED])
    stop, _, _ = play_loop(Rules(TagPolicy(), patience), world)
    assert world.waits == [100, 100]
    assert stop.outcome is Outcome.FAILED
    assert stop.why == "Usage limit. That is longer than ralph waits for a limit (4m10s, retry.maxWaitSeconds)."


def test_who_wants_no_retries_waits_for_no_limit() -> None:
    world = ScriptedEffects([LIMITED])
    stop, _, _ = play_loop(Rules(TagPolicy(), Patience(retries=0, max_wait=3600.0)), world)
    assert (stop.outcome, world.waits) == (Outcome.FAILED, [])


@pytest.mark.parametrize(
    ("resumed", "wall", "decision"),
    [
        (Resumed(waits_on=True), 1_001_000.0, Wait(2605.0, "The account's limit has not ended yet.")),
        (Resumed(waits_on=True), 1_004_000.0, None),
        (Resumed(), 1_001_000.0, None),  # another agent has limits of its own
    ],
)
def test_what_was_killed_while_it_waited_for_a_limit_waits_on(
    resumed: Resumed, wall: float, decision: Decision | None
) -> None:
    rules = Rules(TagPolicy(), Patience(max_wait=21_600.0))
    state, _ = step(rules, None, Observation(fact=Began(), wall=1_000_000.0))
    reported = Reported(outcome="limited", reset_at=1_003_600.0)
    state, waiting = step(rules, state, Observation(fact=reported, wall=1_000_000.0))
    assert waiting == Wait(3605.0, "")
    again = step(rules, state, Observation(fact=resumed, wall=wall))[1]
    assert again == decision or (decision is None and isinstance(again, RunAgent))


def test_patience_ends() -> None:
    world = ScriptedEffects([AgentTurn(reported=Reported(outcome="overloaded", detail="Overloaded."))])
    stop, _, _ = play_loop(Rules(TagPolicy(), Patience(retries=3, delay=1)), world)
    assert stop == Stop(Outcome.FAILED, "Overloaded. Gave up after 4 tries in a row.")


def test_patience_begins_anew_after_an_agent_that_worked() -> None:
    trouble = AgentTurn(reported=Reported(outcome="overloaded", detail="Overloaded."))
    world = ScriptedEffects([trouble, trouble, AgentTurn(reported=WORKING), trouble, AgentTurn(reported=DONE)])
    play_loop(Rules(TagPolicy(), Patience(retries=2, delay=1)), world)
    assert world.waits == [1, 2, 1]


def test_an_hour_that_has_passed_is_not_waited_for() -> None:
    passed = AgentTurn(reported=Reported(outcome="limited", reset_at=900_000.0))
    world = ScriptedEffects([passed, AgentTurn(reported=DONE)])
    play_loop(Rules(TagPolicy(), Patience(delay=1)), world)
    assert world.waits == [1]


def test_an_empty_answer_is_asked_again_before_it_counts() -> None:
    world = ScriptedEffects([AgentTurn(reported=Reported(outcome="empty"))])
    stop, _, state = play_loop(Rules(TagPolicy(), Patience(empty_retries=3)), world, limits=Limits(2))
    assert stop.outcome is Outcome.EXHAUSTED
    assert (len(world.briefs), state.tally.iterations) == (8, 2)


def test_what_cannot_work_stops_at_once_with_exit_code_2() -> None:  # C12
    stop, log, _ = play_loop(
        Rules(TagPolicy()),
        ScriptedEffects([AgentTurn(reported=Reported(outcome="unusable", detail="Invalid API key."))]),
    )
    assert stop == Stop(Outcome.UNUSABLE, "Invalid API key.")
    assert stop.outcome.exit_code == 2
    assert len(log) == 2


@pytest.mark.parametrize("outcome", ["crashed", "timed_out", "idle", "refused", "cut_short"])
def test_what_the_agent_caused_spends_an_iteration(outcome: RunOutcome) -> None:  # C12
    world = ScriptedEffects([AgentTurn(reported=Reported(outcome=outcome, text="<response>DONE</response>"))])
    stop, _, _ = play_loop(Rules(TagPolicy(gates=GATES)), world, limits=Limits(2))
    assert stop.outcome is Outcome.EXHAUSTED
    assert len(world.briefs) == 2


def test_a_signal_lets_the_step_finish_and_starts_no_other() -> None:  # 001-25
    world = ScriptedEffects([AgentTurn(reported=DONE, interrupted="received SIGINT")])
    stop, log, state = play_loop(Rules(TagPolicy()), world)
    assert stop == Stop(Outcome.INTERRUPTED, "received SIGINT")
    assert stop.outcome.exit_code == 130
    assert isinstance(log[-1][0].fact, Reported)
    assert isinstance(state.wanted, Stop)
    assert state.wanted.outcome is Outcome.COMPLETED  # resuming confirms it


def test_resuming_does_what_was_decided_and_not_done() -> None:
    rules = Rules(TagPolicy(gates=GATES))
    first = ScriptedEffects([AgentTurn(reported=DONE, interrupted="received SIGTERM")])
    _, _, state = play_loop(rules, first)
    second = ScriptedEffects([AgentTurn(reported=DONE)])
    stop, more, _ = play_loop(rules, second, state=state, fact=Resumed(Limits()))
    assert stop.outcome is Outcome.COMPLETED
    assert second.briefs == []  # the agent's run was finished: it is not repeated
    assert [type(d) for _, d in more] == [Check, Stop]


UNSEEN = replace(DONE, unseen=True)


def test_an_agent_run_is_on_record_and_paid_for_before_anyone_looks_at_its_work() -> None:
    rules = Rules(TagPolicy(gates=GATES))
    state, _ = step(rules, None, Observation(fact=Began()))
    state, decision = step(rules, state, Observation(fact=UNSEEN))
    assert decision == TakeSnapshot(1)
    assert (state.tally.iterations, state.tally.cost_usd) == (1, 0.5)
    state, decision = step(rules, state, Observation(fact=SnapshotTaken()))
    assert isinstance(decision, Check)
    assert (state.tally.iterations, state.tally.cost_usd) == (1, 0.5)  # counted once


def test_a_run_that_was_killed_while_it_looked_at_the_work_looks_again_and_asks_no_agent() -> None:
    rules = Rules(TagPolicy(gates=GATES))
    state, _ = step(rules, None, Observation(fact=Began()))
    state, _ = step(rules, state, Observation(fact=UNSEEN))
    state, decision = step(rules, state, Observation(fact=Resumed(rechecks=True)))
    assert decision == TakeSnapshot(1)
    _, decision = step(rules, state, Observation(fact=SnapshotTaken()))
    assert isinstance(decision, Check)


def test_what_a_snapshot_tells_belongs_to_the_report() -> None:
    rules = Rules(TagPolicy(signals=("file:DONE",)))
    quiet = Reported(outcome="finished", text="there", unseen=True)
    state, _ = step(rules, None, Observation(fact=Began()))
    state, _ = step(rules, state, Observation(fact=quiet))
    _, decision = step(rules, state, Observation(fact=SnapshotTaken(present=("DONE",))))
    assert isinstance(decision, Stop)
    assert decision.outcome is Outcome.COMPLETED


def test_the_report_of_an_earlier_run_is_looked_at_first_and_not_paid_twice() -> None:
    rules = Rules(TagPolicy(gates=GATES))
    state, decision = step(rules, None, Observation(fact=Began(spent_usd=0.5, report=UNSEEN)))
    assert isinstance(decision, TakeSnapshot)
    state, decision = step(rules, state, Observation(fact=SnapshotTaken()))
    assert isinstance(decision, Check)
    assert state.tally.cost_usd == 0.5


GREEN = Checked((GateResult(gate="test", passed=True),))
RED = Checked((GateResult(gate="test", passed=False, exit_code=1),))


def cut_off(rules: Rules[TaggedState], *facts: Fact) -> LoopState[TaggedState]:
    """As a signal leaves it that comes with the last of these."""
    state: LoopState[TaggedState] | None = None
    for number, fact in enumerate((Began(), *facts)):
        by = "received SIGINT" if number == len(facts) else ""
        state, _ = step(rules, state, Observation(fact=fact, interrupted_by=by))
    assert state is not None
    return state


@pytest.mark.parametrize("saves", [True, False])
def test_resuming_checks_again_what_an_earlier_life_had_checked(saves: bool) -> None:
    rules = Rules(TagPolicy(gates=("test",), saves=saves))
    state = cut_off(rules, DONE, GREEN)
    assert isinstance(state.wanted, Save if saves else Stop)
    state, again = step(rules, state, Observation(fact=Resumed(rechecks=True)))
    assert again == Check(("test",), 1)
    assert isinstance(step(rules, state, Observation(fact=RED))[1], RunAgent)
    _, green = step(rules, state, Observation(fact=GREEN))
    assert isinstance(green, Save if saves else Stop)


def test_without_checks_resuming_completes_what_was_claimed() -> None:
    rules = Rules(TagPolicy())
    _, decision = step(rules, cut_off(rules, DONE), Observation(fact=Resumed(rechecks=True)))
    assert isinstance(decision, Stop)
    assert decision.outcome is Outcome.COMPLETED


def test_a_journal_of_before_is_folded_as_it_was_written() -> None:
    rules = Rules(TagPolicy(gates=("test",)))
    _, decision = step(rules, cut_off(rules, DONE, GREEN), Observation(fact=Resumed()))
    assert isinstance(decision, Stop)
    assert decision.outcome is Outcome.COMPLETED


def test_resuming_with_a_higher_limit_goes_on() -> None:
    rules = Rules(TagPolicy(gates=GATES))
    _, _, state = play_loop(rules, ScriptedEffects([AgentTurn(reported=WORKING)]), limits=Limits(2))
    world = ScriptedEffects([AgentTurn(reported=WORKING), AgentTurn(reported=DONE)])
    stop, _, last = play_loop(rules, world, state=state, fact=Resumed(Limits(5)))
    assert stop.outcome is Outcome.COMPLETED
    assert [b.iteration for b in world.briefs] == [3, 4]
    assert world.briefs[0].limit == 5
    assert last.tally.iterations == 4


def test_resuming_forgets_troubles_not_iterations() -> None:
    rules = Rules(TagPolicy(), Patience(retries=1, delay=1))
    stop, _, state = play_loop(rules, ScriptedEffects([AgentTurn(reported=Reported(outcome="offline"))]))
    assert stop.outcome is Outcome.FAILED
    again, _, _ = play_loop(
        rules,
        ScriptedEffects([AgentTurn(reported=Reported(outcome="offline")), AgentTurn(reported=DONE)]),
        state=state,
        fact=Resumed(Limits()),
    )
    assert again.outcome is Outcome.COMPLETED


def test_costs_and_tokens_add_up_and_unknown_stays_unknown() -> None:
    known = [
        AgentTurn(reported=Reported(outcome="finished", cost_usd=0.5, usage=Usage(input_tokens=10, output_tokens=2))),
        AgentTurn(reported=Reported(outcome="finished", usage=Usage(input_tokens=1, output_tokens=1))),
    ]
    _, _, state = play_loop(Rules(TagPolicy()), ScriptedEffects(known), limits=Limits(2))
    assert (state.tally.cost_usd, state.tally.usage) == (0.5, Usage(input_tokens=11, output_tokens=3))
    _, _, state = play_loop(
        Rules(TagPolicy()), ScriptedEffects([AgentTurn(reported=Reported(outcome="finished"))]), limits=Limits(2)
    )
    assert state.tally.cost_usd is None


def test_a_journal_must_begin_at_the_beginning() -> None:
    with pytest.raises(ValueError, match="starts with Began"):
        replay(Rules(TagPolicy()), [Observation(fact=Checked(()))])


def test_waiting_and_asking_again_repeats_the_same_brief() -> None:
    world = ScriptedEffects(
        [
            AgentTurn(reported=WORKING, red=frozenset({"lint"})),
            AgentTurn(reported=Reported(outcome="offline")),
            AgentTurn(reported=WORKING),
        ]
    )
    _, log, _ = play_loop(Rules(TagPolicy(gates=GATES)), world, limits=Limits(2))
    assert world.briefs[1] == world.briefs[2]
    assert world.briefs[1].feedback[0].text == "lint: no"
    assert any(isinstance(d, Wait) for _, d in log)


def test_began_is_the_only_beginning() -> None:
    assert play_loop(Rules(TagPolicy()), ScriptedEffects([AgentTurn(reported=DONE)]))[1][0][0].fact == Began(Limits())


def test_resuming_begins_every_row_anew_and_keeps_the_sums() -> None:
    rules = Rules(TagPolicy())
    state, _ = step(rules, None, Observation(fact=Began(Limits())))
    tally = Tally(
        iterations=3,
        cost_usd=0.5,
        usage=Usage(input_tokens=1),
        troubles=2,
        empties=1,
        refusals=RefusalStreak("Bash", 1, "no"),
    )
    resumed, _ = step(rules, replace(state, tally=tally), Observation(fact=Resumed(Limits(9))))
    assert resumed.tally == Tally(iterations=3, cost_usd=0.5, usage=Usage(input_tokens=1))
    assert resumed.limits == Limits(9)


def test_what_an_earlier_run_of_the_same_work_spent_is_spent() -> None:
    began = Began(Limits(10, cost_usd=0.5), spent_usd=0.6)
    _, decision = step(Rules(TagPolicy()), None, Observation(fact=began))
    assert decision == Stop(Outcome.OVER_BUDGET, "$0.60 of the $0.50 budget spent")


@pytest.mark.parametrize(
    "fact", [Saved(cost_usd=0.2, usage=Usage(input_tokens=5)), Verified(verified=False, reason="", cost_usd=0.2)]
)
def test_what_is_asked_beside_the_work_is_paid_for_too(fact: Saved | Verified) -> None:
    rules = Rules(TagPolicy())
    facts: list[Fact] = [Began(Limits()), Reported(outcome="finished", cost_usd=0.3), fact]
    state, _ = replay(rules, [Observation(fact=each) for each in facts])
    assert state is not None
    assert (state.tally.cost_usd, state.tally.usage) == (0.5, fact.usage)


def test_only_the_last_scm_tasks_count_when_it_ends() -> None:  # issue 12
    facts: list[Fact] = [Began(Limits()), Reported(outcome="finished"), Saved(problems=("git push failed",))]
    state, _ = replay(Rules(TagPolicy(saves=True)), [Observation(fact=each) for each in facts])
    assert state is not None
    assert state.tally.scm_problems == ("git push failed",)
    facts += [Reported(outcome="finished"), Saved(done=("push",))]
    state, _ = replay(Rules(TagPolicy(saves=True)), [Observation(fact=each) for each in facts])
    assert state is not None
    assert state.tally.scm_problems == ()


def refused(*tools: str, detail: str = "It may not.") -> AgentTurn:
    return AgentTurn(reported=Reported(outcome="refused", refused_tools=tools, detail=detail))


def test_the_same_refusal_twice_in_a_row_ends_it() -> None:
    world = ScriptedEffects([refused("Bash")])
    stop, _, _ = play_loop(Rules(TagPolicy()), world)
    assert stop == Stop(Outcome.UNUSABLE, "It may not. It was refused the same 2 times in a row.")
    assert len(world.briefs) == 2


def test_another_refusal_or_none_begins_a_new_row() -> None:
    others = [
        refused("Bash"),
        refused("Write"),
        AgentTurn(reported=WORKING),
        refused("Write"),
        AgentTurn(reported=DONE),
    ]
    assert play_loop(Rules(TagPolicy()), ScriptedEffects(others))[0].outcome is Outcome.COMPLETED


@pytest.mark.parametrize(("verified", "times"), [(True, 0), (False, 1)])
def test_work_that_is_verified_ends_a_row_of_refusals(verified: bool, times: int) -> None:
    facts: list[Fact] = [Began(Limits()), refused("Bash").reported, Verified(verified=verified, reason="")]
    state, _ = replay(Rules(TagPolicy()), [Observation(fact=each) for each in facts])
    assert state is not None
    assert state.tally.refusals.times == times
