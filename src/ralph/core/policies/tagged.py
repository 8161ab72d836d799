"""Done when the agent says so in the agreed way and every guardrail passes."""

from msgspec import Struct

from ralph.core.claims import find_completion_signal
from ralph.model.loop import (
    Brief,
    Check,
    Checked,
    Decision,
    Feedback,
    Forbidden,
    Limits,
    Observation,
    Outcome,
    Reported,
    RunAgent,
    Save,
    Saved,
    Stop,
    Tally,
)


class TaggedState(Struct, frozen=True):
    """The claim of the last agent run, and whether one ran since the last check."""

    claim: str = ""  # the signal that fired, in words
    worked: bool = False  # an agent ran since the last check: else it is the baseline that was checked


class TagPolicy(Struct, frozen=True, kw_only=True):
    """The rule of `ralph run`."""

    gates: tuple[str, ...] = ()
    signals: tuple[str, ...] = ("response",)
    expected: str = "DONE"
    saves: bool = False  # SCM tasks after every passing iteration
    baseline: bool = False  # check once before the first agent

    def begin(self, limits: Limits) -> tuple[TaggedState, Decision]:
        """Start with the baseline where asked for."""
        return TaggedState(), Check(self.gates, 0) if self.baseline and self.gates else RunAgent(
            Brief(iteration=1, limit=limits.iterations)
        )

    def decide(
        self, state: TaggedState, seen: Observation, tally: Tally, limits: Limits
    ) -> tuple[TaggedState, Decision]:
        """Agent → all gates → SCM → is it claimed?"""
        match seen.fact:
            case Reported() as reported:
                state = TaggedState(find_completion_signal(self.signals, self.expected, reported), worked=True)
                return state, Check(self.gates, tally.iterations) if self.gates else self._save_or_finish(state, tally)
            case Checked() as checked if checked.failures:
                return TaggedState(), _run_again(tuple(f.feedback for f in checked.failures if f.feedback))
            case Checked():
                return state, self._save_or_finish(state, tally)
            case Saved():
                return state, self._finish_if_claimed(state)
            case Forbidden(why):
                return state, self._finish_if_claimed(state, f"; SCM tasks skipped: {why}")
            case _:
                return state, _run_again()

    def explain_exhaustion(self, limits: Limits) -> str:
        return f"maximum iterations reached ({limits.iterations}) without completion"

    def _save_or_finish(self, state: TaggedState, tally: Tally) -> Decision:
        return Save(tally.iterations) if self.saves and state.worked else self._finish_if_claimed(state)

    def _finish_if_claimed(self, state: TaggedState, note: str = "") -> Decision:
        if not state.claim:
            return _run_again()
        count = len(self.gates)
        proof = f"{count} guardrail{'s' if count != 1 else ''} passed" if count else "no guardrails configured"
        return Stop(Outcome.COMPLETED, f"agent claimed {state.claim}, {proof}{note}")


def _run_again(feedback: tuple[Feedback, ...] = ()) -> Decision:
    return RunAgent(Brief(iteration=0, limit=0, feedback=feedback))
