"""A transition of the journal, as watchers hear it."""

from typing import Any

import pytest

from ralph.core.narrative import build_events, is_cut_off
from ralph.model.agent_chain import ESCALATION
from ralph.model.control import PersonNote
from ralph.model.events import (
    AgentEnded,
    Committed,
    Debugged,
    Event,
    IterationStarted,
    Noted,
    Paused,
    RunEnded,
    RunStarted,
    Usage,
    Waiting,
    Warned,
)
from ralph.model.loop import (
    Began,
    Brief,
    Check,
    Checked,
    Decision,
    Fact,
    GateResult,
    Interrupted,
    Limits,
    Look,
    Looked,
    LoopState,
    Observation,
    Outcome,
    PauseLoop,
    Reported,
    Restore,
    Resumed,
    RunAgent,
    Saved,
    Stop,
    Surveyed,
    Tally,
    UnseenReport,
    Wait,
)

QUIET: Decision = Check(("make test",), 2)
BRIEF = Brief(iteration=3, limit=9)
USAGE = Usage(input_tokens=7)


def tell(fact: Fact, decision: Decision = QUIET, **state: Any) -> list[Event]:
    made = LoopState(**{"inner": None, "wanted": decision, "tally": Tally(iterations=2), **state})
    return build_events("run-1", "claude", seen=Observation(fact=fact, at=12.5), state=made, decision=decision)


def decide(decision: Decision, **state: Any) -> list[Event]:
    return tell(Looked(), decision, **state)


# -- facts -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("fact", "resumed"), [(Began(Limits(9, cost_usd=5.0)), False), (Resumed(Limits(9)), True)])
def test_a_start_tells_who_works_and_what_is_left(fact: Began | Resumed, resumed: bool) -> None:
    (started,) = tell(fact, tally=Tally(cost_usd=1.0, estimated_usd=0.5))
    budget = None if resumed else 5.0
    assert started == RunStarted(
        run="run-1", agent="claude", limit=9, resumed=resumed, budget_usd=budget, spent_usd=1.5, estimated=True
    )
    (known,) = tell(fact, tally=Tally(cost_usd=1.0))
    assert isinstance(known, RunStarted)
    assert not known.estimated


def test_the_end_of_an_agent_is_told_with_all_that_is_known() -> None:
    reported = Reported(
        outcome="finished",
        text="<response>DONE</response>",
        detail="It finished.",
        seconds=4.5,
        cost_usd=0.25,
        usage=USAGE,
        tools=5,
        errors=1,
        exit_code=2,
        unparsed=3,
        estimated_usd=9.0,
    )
    ended, debugged = tell(reported)
    assert ended == AgentEnded(
        iteration=2,
        outcome="finished",
        detail="It finished.",
        seconds=4.5,
        cost_usd=0.25,
        usage=USAGE,
        tools=5,
        errors=1,
        exit_code=2,
        unparsed=3,
    )
    assert debugged == Debugged("Completion check: <response> 'DONE', <promise> None")
    estimated, _ = tell(Reported(outcome="finished", estimated_usd=0.5))
    assert isinstance(estimated, AgentEnded)
    assert (estimated.cost_usd, estimated.estimated_usd) == (None, 0.5)


def test_checks_that_are_red_before_the_first_agent_are_a_warning_and_later_none() -> None:
    red = Checked((GateResult(gate="make test", passed=False), GateResult(gate="lint", passed=True)))
    first = Tally()
    assert tell(red, tally=first) == [Warned("Baseline is red: make test failed before the first agent call")]
    assert tell(red) == tell(Checked((GateResult(gate="lint", passed=True),)), tally=first) == []


def test_others_that_are_waited_for_are_named() -> None:
    assert tell(Looked(needs=("a", "b"))) == [Noted("Waiting for a, b: no DONE file yet")]
    assert tell(Looked()) == []


@pytest.mark.parametrize(("count", "listed"), [(1, "1"), (5, "1, 2, 3, 4, 5"), (6, "1, 2, 3, 4, 5, …")])
def test_what_is_not_committed_is_told_before_the_first_agent(count: int, listed: str) -> None:
    found = Surveyed(uncommitted=tuple(str(number) for number in range(1, count + 1)))
    told = Warned(f"Not committed yet: {listed}. Agents are told to commit everything")
    assert (tell(found, tally=Tally()), tell(found)) == ([told], [])
    assert tell(Surveyed(), tally=Tally()) == []


def test_files_that_changed_under_the_loop_are_told_and_commits_too() -> None:
    told = [Warned("prd.md has changed: the next agents get the new text")]
    assert tell(Surveyed(rewritten=("prd.md",))) == told
    assert tell(Surveyed()) == []
    saved = Saved(done=("commit",), message="Add it", problems=("push failed",))
    assert tell(saved) == [Committed(("commit",), "Add it", ("push failed",))]


# -- decisions -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("brief", "started"),
    [
        (BRIEF, IterationStarted(3, 9)),
        (
            Brief(iteration=3, limit=9, role="review", story="S-1", tasks="{}"),
            IterationStarted(3, 9, "review S-1"),
        ),
        (
            Brief(iteration=3, limit=9, role="coder", story="T-1", turn=2, turns=4),
            IterationStarted(2, 4, "coder T-1"),
        ),
        (
            Brief(iteration=3, limit=9, role="coder", story="T-1"),
            IterationStarted(1, 1, "coder (resolves a merge conflict) T-1"),
        ),
    ],
)
def test_an_iteration_is_counted_as_its_loop_counts(brief: Brief, started: IterationStarted) -> None:
    assert decide(RunAgent(brief)) == [started]


@pytest.mark.parametrize(("agent", "who"), [("codex", "codex"), (ESCALATION, "the agent for stuck runs")])
def test_another_agent_that_takes_over_is_named(agent: str, who: str) -> None:
    assert decide(RunAgent(Brief(iteration=3, limit=9, agent=agent))) == [
        Warned(f"{who} takes over"),
        IterationStarted(3, 9),
    ]


def test_what_people_said_is_told_with_who_said_it() -> None:
    note = PersonNote(id=1, text="Use tabs", by="alex")
    answer = PersonNote(id=2, text="Yes", by="kim", question="Shall I?")
    assert decide(RunAgent(Brief(iteration=3, limit=9, notes=(note, answer))))[1:] == [
        Noted("told: note from alex: Use tabs"),
        Noted("told: answer from kim: Yes"),
    ]


def test_waits_pauses_and_repairs_are_told() -> None:
    assert decide(Wait(5.0, "overloaded")) == [Waiting(5.0, "overloaded")]
    assert decide(PauseLoop("alex")) == [Paused("alex")]
    assert decide(Restore(None, ("a line", "another"))) == [Warned("a line"), Warned("another")]
    assert decide(Look()) == []


def test_an_end_is_told_with_what_it_cost_and_what_went_wrong() -> None:
    tally = Tally(iterations=2, cost_usd=1.0, estimated_usd=0.5, usage=USAGE, scm_problems=("push failed",))
    stop = Stop(Outcome.BLOCKED, "it asks", flagged=True, question="Shall I?")
    assert decide(stop, tally=tally) == [
        RunEnded(
            run="run-1",
            outcome=Outcome.BLOCKED.value,
            why="it asks",
            exit_code=Outcome.BLOCKED.exit_code,
            iterations=2,
            seconds=12.5,
            cost_usd=1.0,
            usage=USAGE,
            flagged=True,
            question="Shall I?",
            problems=("push failed",),
            estimated_usd=0.5,
        )
    ]


@pytest.mark.parametrize(
    ("wanted", "unseen", "cut_off"),
    [
        (RunAgent(BRIEF), None, True),
        (QUIET, None, False),
        (RunAgent(BRIEF), UnseenReport(Reported(outcome="finished"), 2), False),
    ],
)
def test_an_agent_that_was_interrupted_counts_as_begun(
    wanted: Decision, unseen: UnseenReport | None, cut_off: bool
) -> None:
    state = {"wanted": wanted, "unseen": unseen}
    (ended,) = tell(Interrupted("received SIGINT"), Stop(Outcome.INTERRUPTED, "received SIGINT"), **state)
    assert isinstance(ended, RunEnded)
    assert (ended.cut_off, ended.iterations) == (cut_off, 3 if cut_off else 2)
    made: LoopState[None] = LoopState(inner=None, wanted=wanted, unseen=unseen)
    assert not is_cut_off(Observation(fact=Looked()), made)
