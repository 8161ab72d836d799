"""Done when the task has its DONE mark and no child run is active: conductor-loop's root agent loop."""

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.text.quantities import format_duration
from ralph.model.loop import (
    Await,
    Awaited,
    Brief,
    Check,
    Checked,
    Decision,
    Feedback,
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
    add_reset_margin,
)

WAIT_EXIT_CODE = 42  # the exit code that says: do not restart me
COMPLETED_REASON = "task completed (DONE marker present, no active children)"
NO_AGENT_REASON = "DONE was there already; no agent was run"
MAX_RESTARTS_REASON = "max restarts exceeded"


class DoneFileState(Struct, frozen=True, kw_only=True):
    """What the last agent run and the last look at the task folder left open."""

    ran: bool = False  # an agent has ended since the last look
    waits: bool = False  # and asked, by its exit code, not to be restarted
    done: bool = False  # the mark is there
    limit_end: float = 0.0  # unix time when the account's limit ends, where its agent ran into one
    feedback: tuple[Feedback, ...] = ()  # of checks that failed though the mark was there, for the next agent
    red: tuple[str, ...] = ()  # those checks
    left: tuple[str, ...] = ()  # child runs that were still active after the wait


class DoneFilePolicy(Struct, frozen=True, kw_only=True):
    """cancelled → DONE → restarts used up → run → DONE → delay, and again. Only the mark completes, no exit code."""

    restart_delay: float = 1.0
    wait_timeout: float = 300.0
    max_wait: float = 0.0  # seconds a limit of the account is waited for; 0: it is restarted like any other
    gates: tuple[str, ...] = ()  # checks without which the mark does not count

    def begin(self, limits: Limits) -> tuple[DoneFileState, Decision]:
        """Looks before the first run: the mark may be there already."""
        return DoneFileState(), Look()

    def decide(
        self, state: DoneFileState, seen: Observation, tally: Tally, limits: Limits
    ) -> tuple[DoneFileState, Decision]:
        match seen.fact:
            case Looked() as looked:
                after = DoneFileState(done=looked.done, feedback=state.feedback, red=state.red)
                return after, self._after_look(state, looked, seen, limits)
            case Reported(exit_code=code, reset_at=reset):
                waits = code == WAIT_EXIT_CODE
                return DoneFileState(ran=True, waits=waits, limit_end=reset or 0.0, red=state.red), Look()
            case Awaited(left) if state.done and self.gates:
                return replace(state, left=left), Check(self.gates, tally.iterations)
            case Checked() as checked if not checked.failures:
                passed = f"; checks passed: {', '.join(result.gate for result in checked.results)}"
                return state, Stop(
                    Outcome.COMPLETED, _describe_completion(state.left, ran=tally.iterations > 0) + passed
                )
            case Checked() as checked:
                told = tuple(failure.feedback for failure in checked.failures if failure.feedback)
                red = tuple(failure.gate for failure in checked.failures)
                return DoneFileState(feedback=told, red=red), Wait(self.restart_delay, "before the restart")
            case Awaited(left) if state.done:
                return state, Stop(Outcome.COMPLETED, _describe_completion(left, ran=tally.iterations > 0))
            case _:
                return DoneFileState(feedback=state.feedback, red=state.red), Look()

    def explain_exhaustion(self, limits: Limits) -> str:
        return MAX_RESTARTS_REASON

    def explain_incompletion(self, state: DoneFileState) -> str:
        """DONE was there, but these checks failed: make test"""
        return f"DONE was there, but these checks failed: {', '.join(state.red)}" if state.red else ""

    def _after_look(self, state: DoneFileState, looked: Looked, seen: Observation, limits: Limits) -> Decision:
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
            return self._wait_for_restart(state.limit_end - seen.wall, seen.at, limits)
        return RunAgent(Brief(iteration=0, limit=0, feedback=state.feedback))

    def _wait_for_restart(self, limit_seconds: float, at: float, limits: Limits) -> Decision:
        """A limit with a known end is waited out: until then every restart would end the same way."""
        if limit_seconds <= 0 or not self.max_wait:
            return Wait(self.restart_delay, "before the restart")
        seconds = add_reset_margin(limit_seconds)
        reached = f"the account's limit ends in {format_duration(limit_seconds)}"
        if seconds > self.max_wait:
            return Stop(Outcome.FAILED, f"{reached}: longer than ralph waits ({format_duration(self.max_wait)})")
        if limits.seconds is not None and at + seconds >= limits.seconds:
            return Stop(Outcome.EXHAUSTED, f"{reached}: after the time limit of {limits.seconds:g}s")
        return Wait(seconds, "The account's limit is reached.")


def _describe_completion(left: tuple[str, ...], *, ran: bool) -> str:
    if not left:
        return COMPLETED_REASON if ran else f"{COMPLETED_REASON}; {NO_AGENT_REASON}"
    return f"task completed (DONE marker present; still active after the wait: {', '.join(left)})"
