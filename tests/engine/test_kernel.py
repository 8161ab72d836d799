"""Journal first, act second."""

from collections.abc import Callable

import pytest

from ralph.core.policies.tagged import TaggedState, TagPolicy
from ralph.core.step import Rules
from ralph.engine import kernel
from ralph.model.loop import Began, Decision, Fact, LoopState, Observation, Outcome, Reported, RunAgent, Stop


def performing(order: list[str]) -> Callable[[Decision], Fact]:
    def perform(decision: Decision) -> Fact:
        order.append(f"perform {type(decision).__name__}")
        return Reported(outcome="finished", text="<response>DONE</response>")

    return perform


def look(fact: Fact) -> Observation:
    return Observation(fact=fact)


def test_a_decision_is_journalled_before_it_is_carried_out() -> None:
    order: list[str] = []

    def journal(seen: Observation, state: LoopState[TaggedState], decision: Decision) -> Decision:
        order.append(f"journal {type(decision).__name__}")
        return decision

    stop = kernel.run_loop(
        Rules(TagPolicy()), None, fact=Began(), look=look, perform=performing(order), journal=journal
    )
    assert stop.outcome is Outcome.COMPLETED
    assert order == ["journal RunAgent", "perform RunAgent", "journal Stop"]


def test_what_cannot_be_journalled_is_not_carried_out() -> None:
    order: list[str] = []

    def journal(seen: Observation, state: LoopState[TaggedState], decision: Decision) -> Decision:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        kernel.run_loop(Rules(TagPolicy()), None, fact=Began(), look=look, perform=performing(order), journal=journal)
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

    kernel.run_loop(Rules(TagPolicy()), None, fact=Began(), look=look, perform=performing([]), journal=journal)
    assert isinstance(seen[0], RunAgent)
    assert isinstance(seen[-1], Stop)
