"""The loop: carry out what the core decides, tell it what happened, until it says stop."""

from collections.abc import Callable
from typing import TypeVar

from ralph.core.step import Rules, step
from ralph.model.loop import Decision, Fact, LoopState, Observation, PauseLoop, Stop, Wait, Waited

_StateT = TypeVar("_StateT")


def run_loop(
    rules: Rules[_StateT],
    state: LoopState[_StateT] | None,
    *,
    fact: Fact,
    look: Callable[[Fact], Observation],
    perform: Callable[[Decision], Fact | None],
    wait: Callable[[float], object],
    pause: Callable[[], object] = int,
    journal: Callable[[Observation, LoopState[_StateT], Decision], Decision],
) -> Stop:
    """Journal first, act second: a crash repeats the last decision and loses none. `journal` gives what is to be done:
    a Stop, where nothing can be written any more. `perform` carries a decision out; a step that was cut short gives
    Interrupted, one that is no business of the loop's own None: waiting is everybody's, any other is a mistake. `pause`
    returns when the loop may go on, or is to end."""
    while True:
        seen = look(fact)
        state, decision = step(rules, state, seen)
        decision = journal(seen, state, decision)
        if isinstance(decision, Stop):
            return decision
        fact = perform(decision) or _wait(decision, wait, pause)


def _wait(decision: Decision, wait: Callable[[float], object], pause: Callable[[], object]) -> Waited:
    match decision:
        case Wait(seconds):
            wait(seconds)
        case PauseLoop():
            pause()
        case _:
            raise ValueError(f"this loop does not know how to {decision!r}")
    return Waited()
