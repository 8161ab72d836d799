"""When a loop stands still: honest histories go on, spinning ones end."""

import pytest

from ralph.core.policies.tagged import TagPolicy
from ralph.core.standstill import (
    build_standstill_feedback,
    explain_standstill,
    forgive_standstill,
    judge_iteration,
    says_it_waits,
    watch_fact,
)
from ralph.core.step import Rules, replay
from ralph.model.loop import (
    Began,
    Checked,
    GateResult,
    Interrupted,
    Limits,
    Outcome,
    Reported,
    Resumed,
    RunAgent,
    Stop,
)
from ralph.model.standstill import Standstill, StuckLimits
from support.iterations import HONEST, SPINNING, Iteration, fold, list_counts
from support.scripted_world import AgentTurn, ScriptedEffects, play_loop

LIMITS = StuckLimits()
STILL = Reported(outcome="finished", text="I renamed the parser.", tree="h T")


@pytest.mark.parametrize("name", HONEST)
def test_no_honest_history_is_stopped(name: str) -> None:
    assert max(list_counts(HONEST[name])) < LIMITS.stop


@pytest.mark.parametrize("name", SPINNING)
def test_every_spinning_history_is_stopped(name: str) -> None:
    """By the fifth iteration that gets no further; going round, the first round is new."""
    counts = list_counts(SPINNING[name])
    assert counts[-1] >= LIMITS.stop
    assert len(counts) <= LIMITS.stop + 3


def test_there_are_enough_histories() -> None:
    assert (len(HONEST) >= 60, len(SPINNING) >= 30) == (True, True)
    assert sum(len(history) == LIMITS.stop for history in SPINNING.values()) >= 30


def test_the_agent_is_told_then_another_one_takes_over_then_it_ends() -> None:
    world = ScriptedEffects([AgentTurn(reported=STILL, red=frozenset({"make test"}))])
    limits = Limits(20, stuck=StuckLimits(agent="stronger"))
    stop, log, _ = play_loop(Rules(TagPolicy(gates=("make test",))), world, limits=limits)
    said = "the last 5 iterations made no progress: `make test` failed the same way: 1 failed, 12 passed"
    assert stop == Stop(Outcome.STUCK, said)
    told = ["NO PROGRESS" in "".join(item.text for item in brief.feedback) for brief in world.briefs]
    assert told == [False, False, True, True, True]
    assert [brief.agent for brief in world.briefs] == ["", "", "", "stronger", "stronger"]
    decided = [decision for _, decision in log]
    assert replay(Rules(TagPolicy(gates=("make test",))), (seen for seen, _ in log))[1] == decided


def test_what_was_tried_is_quoted_and_forbidden() -> None:
    told = build_standstill_feedback(fold([Iteration(red="1 failed", says=f"I tried {w}.") for w in ("this", "that")]))
    assert "failed the same way: 1 failed" in told.text
    assert "Do NOT repeat them:\n- iteration 1: I tried this.\n- iteration 2: I tried that.\n" in told.text


def test_zero_switches_each_of_it_off() -> None:
    world = ScriptedEffects([AgentTurn(reported=STILL)])
    limits = Limits(7, stuck=StuckLimits(tell=0, escalate=0, stop=0, agent="stronger"))
    stop, _, _ = play_loop(Rules(TagPolicy()), world, limits=limits)
    assert stop.outcome is Outcome.EXHAUSTED
    assert {(brief.agent, brief.feedback) for brief in world.briefs} == {("", ())}


def test_a_run_of_before_there_was_such_a_limit_goes_on_as_it_did() -> None:
    stop, _, _ = play_loop(Rules(TagPolicy()), ScriptedEffects([AgentTurn(reported=STILL)]), limits=Limits(9))
    assert stop.outcome is Outcome.EXHAUSTED


def test_it_is_counted_across_lives() -> None:
    rules, limits = Rules(TagPolicy()), Limits(20, stuck=LIMITS)
    cut = AgentTurn(reported=STILL, cut_short=True)
    world = ScriptedEffects([*[AgentTurn(reported=STILL)] * 3, cut, AgentTurn(reported=STILL)])
    stop, log, state = play_loop(rules, world, limits=limits)
    assert (stop.outcome, isinstance(log[-1][0].fact, Interrupted)) == (Outcome.INTERRUPTED, True)
    stop, _, state = play_loop(rules, world, state=state, fact=Resumed(limits))
    assert (stop.outcome, state.tally.iterations) == (Outcome.STUCK, 5)


def test_a_new_run_of_the_same_work_goes_on_counting() -> None:
    before = fold([Iteration(tree="T", says=STILL.text)] * 4)
    world = ScriptedEffects([AgentTurn(reported=STILL)])
    stop, _, state = play_loop(Rules(TagPolicy()), world, fact=Began(Limits(20, stuck=LIMITS), standstill=before))
    assert (stop.outcome, state.tally.iterations) == (Outcome.STUCK, 1)


def test_who_resumes_what_was_stuck_wants_it_tried_again() -> None:
    rules, limits = Rules(TagPolicy()), Limits(20, stuck=LIMITS)
    world = ScriptedEffects([AgentTurn(reported=STILL)])
    _, log, state = play_loop(rules, world, limits=limits)
    stop, again, _ = play_loop(rules, world, state=state, fact=Resumed(limits))
    assert (stop.outcome, sum(isinstance(d, RunAgent) for _, d in again)) == (Outcome.STUCK, 5)
    assert len(log) == len(again)


def test_only_what_was_stopped_is_forgiven() -> None:
    assert forgive_standstill(Standstill(count=4), LIMITS).count == 4
    assert forgive_standstill(Standstill(count=5), LIMITS).count == 0
    assert forgive_standstill(Standstill(count=4), None).count == 0  # of a version that did not look
    assert forgive_standstill(Standstill(count=4), StuckLimits(stop=0)).count == 4  # nothing was stopped for it


@pytest.mark.parametrize(
    ("history", "why"),
    [
        ([Iteration()] * 2, "no file changed"),
        ([Iteration(tree=t) for t in "ABA"], "the files are back to what they were before"),
        (
            [Iteration(ended="crashed", detail="exit code 1")] * 2,
            "it ended the same way and changed no file: exit code 1",
        ),
        ([Iteration(tree="", says="Hm.")] * 2, "the agent's answer says nothing new"),
        (
            [Iteration(tree=t, tool_error="no such host") for t in "AB"],
            "its tool calls ended with the same error: no such host",
        ),
        ([Iteration(wrong="no file", role="coder")] * 2, "coder's verification failed the same way: no file"),
        ([Iteration(unlanded="1 failed", role="coder")] * 2, "the merged tree failed the same way: 1 failed"),
    ],
)
def test_the_reason_names_what_was_alike(history: list[Iteration], why: str) -> None:
    assert explain_standstill(fold(history)) == f"the last 2 iterations made no progress: {why}"


@pytest.mark.parametrize(
    ("results", "why"),
    [
        (
            [GateResult(gate="lint", passed=False, reason="It timed out.")] * 2,
            "`lint` failed the same way: It timed out.",
        ),
        ([GateResult(gate="lint", passed=False, exit_code=3)] * 2, "`lint` failed the same way: exit code 3"),
        ([GateResult(gate="lint", passed=False, reason=reason) for reason in ("It timed out.", "No such file.")], ""),
    ],
)
def test_a_check_that_prints_nothing_is_compared_by_how_it_ended(results: list[GateResult], why: str) -> None:
    standstill = Standstill()
    for number, result in enumerate(results, 1):
        for fact in (STILL, Checked((result,))):
            standstill = watch_fact(standstill, fact, iteration=number, role="")
        standstill = judge_iteration(standstill)
    assert standstill.why == why


@pytest.mark.parametrize(
    ("progress", "count", "why"),
    [("same", 4, "no story moved on and nothing was committed"), ("story #", 1, "")],
)
def test_where_the_policy_has_a_sign_of_progress_files_and_words_are_none(progress: str, count: int, why: str) -> None:
    """Of a reviewer who finds something else each time, in files and commits that change."""
    standstill = Standstill()
    for number, word in enumerate(("parser", "billing service", "cache", "grammar"), 1):
        reported = Reported(
            outcome="finished",
            text=f"The {word} is wrong in {word} ways: {word}.",
            tree=f"h{number} T{number}",
            head=f"h{number}",
        )
        standstill = watch_fact(standstill, reported, iteration=number, role="review")
        standstill = judge_iteration(standstill, progress.replace("#", str(number)))
    assert (standstill.count, standstill.why) == (count, why)


def test_the_policy_has_no_sign_of_an_agent_that_was_cut_off() -> None:
    standstill = Standstill()
    for number in (1, 2):
        reported = Reported(outcome="timed_out", detail="stopped after 60s", tree=f"h T{number}")
        standstill = judge_iteration(watch_fact(standstill, reported, iteration=number, role="implement"), "same")
    assert standstill.count == 1, "its files grow"


def test_of_an_agent_that_only_failed_its_failure_is_quoted() -> None:
    crashed = fold([Iteration(ended="crashed", detail="no memory left", says="")] * 2)
    assert "- iteration 2: no memory left" in build_standstill_feedback(crashed).text


def test_no_secret_is_quoted() -> None:
    told = build_standstill_feedback(fold([Iteration(says="I used sk-ant-api03-" + "a1B2" * 12)] * 2))
    assert "a1B2" not in told.text


@pytest.mark.parametrize(
    ("answer", "waits"),
    [
        ("<waiting>CI</waiting>", True),
        ("Soon.\n<waiting>CI</waiting>\n", True),
        ("<waiting>CI</waiting> but I go on", False),
        ("I am waiting", False),
        ("</waiting>", False),
    ],
)
def test_who_waits_says_so_last(answer: str, waits: bool) -> None:
    assert says_it_waits(answer) is waits
