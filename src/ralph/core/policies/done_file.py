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

WAIT_EXIT_CODE = 42  # the exit code that says: do not restart me
COMPLETED_REASON = "task completed (DONE marker present, no active children)"
NO_AGENT_REASON = "DONE was there already; no agent was run"
MAX_RESTARTS_REASON = "max restarts exceeded"


class DoneFileState(Struct, frozen=True):
    """What the last agent run and the last look at the task folder left open."""

    ran: bool = False  # an agent has ended since the last look
    waits: bool = False  # and asked, by its exit code, not to be restarted
    done: bool = False  # the mark is there


class DoneFilePolicy(Struct, frozen=True):
    """cancelled → DONE → restarts used up → run → DONE → delay, and again. Only the mark completes, no exit code."""

    restart_delay: float = 1.0
    wait_timeout: float = 300.0

    def begin(self, limits: Limits) -> tuple[DoneFileState, Decision]:
        """Looks before the first run: the mark may be there already."""
        return DoneFileState(), Look()

    def decide(
        self, state: DoneFileState, seen: Observation, tally: Tally, limits: Limits
    ) -> tuple[DoneFileState, Decision]:
        match seen.fact:
            case Looked() as looked:
                return DoneFileState(done=looked.done), self._after_look(state, looked)
            case Reported(exit_code=code):
                return DoneFileState(ran=True, waits=code == WAIT_EXIT_CODE), Look()
            case Awaited(left) if state.done:
                return state, Stop(Outcome.COMPLETED, _describe_completion(left, ran=tally.iterations > 0))
            case _:
                return DoneFileState(), Look()

    def explain_exhaustion(self, limits: Limits) -> str:
        return MAX_RESTARTS_REASON

    def explain_incompletion(self, state: DoneFileState) -> str:
        return ""  # only the mark completes, and it is not there

    def _after_look(self, state: DoneFileState, looked: Looked) -> Decision:
        if looked.problem:
            return Stop(Outcome.UNUSABLE, looked.problem)
        if looked.done:
            return Await("children", self.wait_timeout)
        if state.ran and (state.waits or looked.waits):
            why = looked.waits or f"the agent ended with exit code {WAIT_EXIT_CODE}"
            return Stop(Outcome.BLOCKED, f"wait-without-restart: {why}")
        if looked.needs:
            return Await("dependencies")
        if state.ran:
            return Wait(self.restart_delay, "before the restart")
        return RunAgent(Brief(iteration=0, limit=0))


def _describe_completion(left: tuple[str, ...], *, ran: bool) -> str:
    if not left:
        return COMPLETED_REASON if ran else f"{COMPLETED_REASON}; {NO_AGENT_REASON}"
    return f"task completed (DONE marker present; still active after the wait: {', '.join(left)})"
