"""What people tell a loop: pauses, notes, answers. All of it is in the observations, so it replays."""

import msgspec
import pytest

from ralph.core.policies.tagged import TagPolicy
from ralph.core.step import Rules, replay
from ralph.model.control import PersonNote
from ralph.model.loop import (
    Began,
    Brief,
    Decision,
    Fact,
    Interrupted,
    Limits,
    Observation,
    Outcome,
    PauseLoop,
    Reported,
    Resumed,
    RunAgent,
    RunOutcome,
    Stop,
    Wait,
    Waited,
)

RULES = Rules(TagPolicy())
WORKING = Reported(outcome="finished", text="still at it")
ASKING = Reported(outcome="finished", text="<question>Tabs or spaces?</question>")
NOTE = PersonNote(id=7, text="Use tabs", by="alex")
LATER = PersonNote(id=8, text="And be quick", by="kim")
TOLD = (NOTE,)


def see(fact: Fact, paused_by: str = "", notes: tuple[PersonNote, ...] = (), at: float = 1.0) -> Observation:
    return Observation(fact=fact, at=at, paused_by=paused_by, notes=notes)


def decide(*seen: Observation) -> list[Decision]:
    """As a journal has it: written, read, and folded again."""
    rows = [msgspec.json.decode(msgspec.json.encode(each), type=Observation) for each in seen]
    return replay(RULES, rows)[1]


def briefs(decisions: list[Decision]) -> list[Brief]:
    return [decision.brief for decision in decisions if isinstance(decision, RunAgent)]


def test_a_pause_takes_effect_before_the_next_agent_and_gives_back_what_was_wanted() -> None:
    decisions = decide(
        see(Began(Limits(3))),
        see(WORKING, paused_by="alex"),
        see(Waited(), paused_by="kim"),
        see(Waited()),
    )
    assert decisions[1:3] == [PauseLoop("alex"), PauseLoop("kim")]
    assert [brief.iteration for brief in briefs(decisions)] == [1, 2]


def test_a_run_is_paused_before_its_first_agent_and_when_it_is_resumed() -> None:
    assert decide(see(Began(Limits(3)), paused_by="alex")) == [PauseLoop("alex")]
    decisions = decide(see(Began(Limits(3))), see(Resumed(Limits(3)), paused_by="alex"), see(Waited()))
    assert decisions[1:] == [PauseLoop("alex"), RunAgent(Brief(iteration=1, limit=3))]


def test_a_pause_starts_nothing_that_a_limit_forbids() -> None:
    stop = decide(see(Began(Limits(1))), see(WORKING, paused_by="alex"))[-1]
    assert isinstance(stop, Stop)
    assert stop.outcome is Outcome.EXHAUSTED


def test_a_limit_of_the_account_is_waited_for_before_the_pause() -> None:
    limited = Reported(outcome="limited", detail="later")
    decisions = decide(see(Began(Limits(3))), see(limited, paused_by="alex"), see(Waited(), paused_by="alex"))
    assert isinstance(decisions[1], Wait)
    assert decisions[2] == PauseLoop("alex")


def test_an_agent_that_a_pause_stopped_is_repeated_and_counts_nothing() -> None:
    cut = Interrupted("", paused=True)
    decisions = decide(see(Began(Limits(3))), see(cut, paused_by="alex"), see(Waited()))
    assert decisions[1] == PauseLoop("alex")
    assert [brief.iteration for brief in briefs(decisions)] == [1, 1]


def test_a_pause_that_was_lifted_before_its_agent_had_stopped_ends_nothing() -> None:
    decisions = decide(see(Began(Limits(3))), see(Interrupted("", paused=True)))
    assert briefs(decisions)[1].iteration == 1


def test_who_interrupts_a_paused_loop_ends_it() -> None:
    seen = Observation(fact=Waited(), paused_by="alex", interrupted_by="received SIGINT")
    assert decide(see(Began(Limits(3))), seen)[-1] == Stop(Outcome.INTERRUPTED, "received SIGINT")


def test_a_note_stands_in_one_prompt() -> None:
    decisions = decide(see(Began(Limits(9))), see(WORKING, notes=TOLD), see(WORKING), see(WORKING, notes=(LATER,)))
    assert [brief.notes for brief in briefs(decisions)] == [(), TOLD, (), (LATER,)]


def test_a_note_waits_for_the_end_of_a_pause() -> None:
    decisions = decide(see(Began(Limits(9)), "alex", TOLD), see(Waited(), "alex", TOLD), see(Waited(), "", TOLD))
    assert [brief.notes for brief in briefs(decisions)] == [TOLD]


@pytest.mark.parametrize("outcome", ["empty", "limited", "overloaded", "offline"])
def test_a_note_for_an_agent_that_did_not_come_to_work_is_told_the_next(outcome: RunOutcome) -> None:
    trouble = see(Reported(outcome=outcome, detail="x"), notes=(LATER,) if outcome == "empty" else ())
    waited = () if outcome == "empty" else (see(Waited(), notes=(LATER,)),)
    decisions = decide(see(Began(Limits(9)), notes=TOLD), trouble, *waited, see(WORKING))
    assert [brief.notes for brief in briefs(decisions)] == [TOLD, (NOTE, LATER), ()]


@pytest.mark.parametrize("cut", [Interrupted("SIGINT"), Interrupted("", paused=True)])
def test_a_note_for_an_agent_that_was_cut_off_is_told_when_it_is_repeated(cut: Interrupted) -> None:
    decisions = decide(see(Began(Limits(9)), notes=TOLD), see(cut), see(Resumed(Limits(9))), see(WORKING))
    assert [brief.notes for brief in briefs(decisions)][-2:] == [TOLD, ()]


def test_what_an_earlier_run_told_an_agent_that_was_cut_off_is_told_again() -> None:
    decisions = decide(see(Began(Limits(9), pending_notes=TOLD), notes=(LATER,)), see(WORKING))
    assert [brief.notes for brief in briefs(decisions)] == [(NOTE, LATER), ()]


def test_a_question_blocks_the_loop_and_its_answer_stands_in_the_next_prompt() -> None:
    answer = PersonNote(id=9, text="Tabs", by="alex", question="Tabs or spaces?")
    decisions = decide(see(Began(Limits(3))), see(ASKING), see(Resumed(Limits(3)), notes=(answer,)), see(WORKING))
    why = "the agent asks: Tabs or spaces?"
    assert decisions[1] == Stop(Outcome.BLOCKED, why, question="Tabs or spaces?")
    assert Outcome.BLOCKED.exit_code == 3
    assert [(brief.iteration, brief.notes) for brief in briefs(decisions)] == [(1, ()), (2, (answer,)), (3, ())]


def test_a_question_outweighs_a_claim_in_the_same_answer() -> None:
    both = Reported(outcome="finished", text="<response>DONE</response>\n<question>Really?</question>")
    assert isinstance(stop := decide(see(Began(Limits(3))), see(both))[-1], Stop)
    assert stop.outcome is Outcome.BLOCKED


def test_journals_of_before_have_none_of_it() -> None:
    old = b'{"fact":{"type":"waited"},"at":1.0,"wall":2.0}'
    assert msgspec.json.decode(old, type=Observation) == Observation(fact=Waited(), at=1.0, wall=2.0)
    assert msgspec.json.encode(see(Waited())) == b'{"fact":{"type":"waited"},"at":1.0}'
