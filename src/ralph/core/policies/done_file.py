"""Done when the task has its DONE mark and no child run is active: conductor-loop's root agent loop."""

from msgspec import Struct

from ralph.model.loop import (
    Await,
    Awaited,
    Brief,
    Decision,
    Limits,
    Look,
    Looked,
    Observation,
    Outcome,
    Reported,
    RunAgent,
    Stop,
    Tally,
    Wait,
)

WAITS = 42  # the exit code that says: do not restart me
COMPLETED = "task completed (DONE marker present, no active children)"
EXHAUSTED = "max restarts exceeded"


class Standing(Struct, frozen=True):
    """What the last run and the last look left open."""

    ran: bool = False  # an agent has ended since the last look
    waits: bool = False  # and asked, by its exit code, not to be restarted
    done: bool = False  # the mark is there


class DoneFile(Struct, frozen=True):
    """cancelled → DONE → restarts used up → run → DONE → delay, and again. Only the mark completes, no exit code."""

    restart_delay: float = 1.0
    wait_timeout: float = 300.0

    def begin(self, limits: Limits) -> tuple[Standing, Decision]:
        """The mark may be there before the first run."""
        return Standing(), Look()

    def decide(self, state: Standing, seen: Observation, tally: Tally, limits: Limits) -> tuple[Standing, Decision]:
        """One turn."""
        match seen.fact:
            case Looked() as looked:
                return Standing(done=looked.done), self._after_look(state, looked)
            case Reported(exit_code=code):
                return Standing(ran=True, waits=code == WAITS), Look()
            case Awaited(left) if state.done:
                return state, Stop(Outcome.COMPLETED, _completed(left))
            case _:
                return Standing(), Look()

    def exhausted(self, limits: Limits) -> str:
        """The restarts are used up."""
        return EXHAUSTED

    def _after_look(self, state: Standing, looked: Looked) -> Decision:
        if looked.problem:
            return Stop(Outcome.UNUSABLE, looked.problem)
        if looked.done:
            return Await("children", self.wait_timeout)
        if state.ran and (state.waits or looked.waits):
            why = looked.waits or f"the agent ended with exit code {WAITS}"
            return Stop(Outcome.BLOCKED, f"wait-without-restart: {why}")
        if looked.needs:
            return Await("dependencies")
        if state.ran:
            return Wait(self.restart_delay, "before the restart")
        return RunAgent(Brief(0, 0))


def _completed(left: tuple[str, ...]) -> str:
    if not left:
        return COMPLETED
    return f"task completed (DONE marker present; still active after the wait: {', '.join(left)})"
