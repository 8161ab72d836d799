"""Journal first, act second."""

from collections.abc import Callable

import pytest

from ralph.core.policies.tagged import TaggedState, TagPolicy
from ralph.core.step import Rules
from ralph.engine import kernel
from ralph.model.loop import Began, Decision, Fact, LoopState, Observation, Outcome, Reported, RunAgent, Stop, Wait

DONE = "<response>DONE</response>"


def performing(order: list[str]) -> Callable[[Decision], Fact]:
    def perform(decision: Decision) -> Fact:
        order.append(f"perform {type(decision).__name__}")
        return Reported(outcome="finished", text=DONE)

    return perform


def look(fact: Fact) -> Observation:
    return Observation(fact=fact)


def test_a_decision_is_journalled_before_it_is_carried_out() -> None:
    order: list[str] = []

    def journal(seen: Observation, state: LoopState[TaggedState], decision: Decision) -> Decision:
        order.append(f"journal {type(decision).__name__}")
        return decision

    stop = kernel.run_loop(
        Rules(TagPolicy()), None, fact=Began(), look=look, perform=performing(order), wait=float, journal=journal
    )
    assert stop.outcome is Outcome.COMPLETED
    assert order == ["journal RunAgent", "perform RunAgent", "journal Stop"]


def test_what_cannot_be_journalled_is_not_carried_out() -> None:
    order: list[str] = []

    def journal(seen: Observation, state: LoopState[TaggedState], decision: Decision) -> Decision:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        kernel.run_loop(
            Rules(TagPolicy()),
            None,
            fact=Began(),
            look=look,
            perform=performing(order),
            wait=float,
            journal=journal,
        )
    assert order == []


def test_what_would_be_on_no_record_is_not_carried_out() -> None:
    order: list[str] = []
    stop = Stop(Outcome.FAILED, "the journal is gone")
    assert (
        kernel.run_loop(
            Rules(TagPolicy()),
            None,
            fact=Began(),
            look=look,
            perform=performing(order),
            wait=float,
            journal=lambda o, s, d: stop,
        )
        == stop
    )
    assert order == []


def test_a_stop_is_the_last_thing() -> None:
    seen: list[Decision] = []

    def journal(observed: Observation, state: LoopState[TaggedState], decision: Decision) -> Decision:
        seen.append(decision)
        return decision

    kernel.run_loop(
        Rules(TagPolicy()), None, fact=Began(), look=look, perform=performing([]), wait=float, journal=journal
    )
    assert isinstance(seen[0], RunAgent)
    assert isinstance(seen[-1], Stop)


def test_a_loop_that_has_nothing_to_say_about_a_wait_waits_as_long_as_it_was_told() -> None:
    facts: list[Fact | None] = [Reported(outcome="overloaded"), None, Reported(outcome="finished", text=DONE)]
    waits: list[float] = []
    decided: list[Decision] = []

    def journal(seen: Observation, state: LoopState[TaggedState], decision: Decision) -> Decision:
        decided.append(decision)
        return decision

    stop = kernel.run_loop(
        Rules(TagPolicy()),
        None,
        fact=Began(),
        look=look,
        perform=lambda decision: facts.pop(0),
        wait=waits.append,
        journal=journal,
    )
    assert stop.outcome is Outcome.COMPLETED
    assert waits == [decision.seconds for decision in decided if isinstance(decision, Wait)]
    assert len(waits) == 1


def test_a_decision_the_loop_cannot_carry_out_is_a_mistake_and_no_wait() -> None:
    with pytest.raises(ValueError, match="does not know how to RunAgent"):
        kernel.run_loop(
            Rules(TagPolicy()),
            None,
            fact=Began(),
            look=look,
            perform=lambda decision: None,
            wait=float,
            journal=lambda seen, state, decision: decision,
        )
