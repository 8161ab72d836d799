"""The loop: carry out what the core decides, tell it what happened, until it says stop."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from ralph.core.step import Rules, step
from ralph.model.loop import Decision, Fact, LoopState, Observation, Stop

S = TypeVar("S")


class Performer(Protocol):
    """Everything a loop may touch."""

    def look(self, fact: Fact) -> Observation:
        """The fact, with the clocks and interruptions of now."""
        ...

    def perform(self, decision: Decision) -> Fact:
        """Carry it out; a step that was cut short gives Interrupted."""
        ...


def run(
    rules: Rules[S],
    state: LoopState[S] | None,
    fact: Fact,
    world: Performer,
    journal: Callable[[Observation, LoopState[S], Decision], object],
) -> Stop:
    """Journal first, act second: a crash repeats the last decision and loses none."""
    while True:
        seen = world.look(fact)
        state, decision = step(rules, state, seen)
        journal(seen, state, decision)
        if isinstance(decision, Stop):
            return decision
        fact = world.perform(decision)
