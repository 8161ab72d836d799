"""Done when the agent says so in the agreed way and every guardrail passes."""

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.claims import MISPLACED_PROMISE_REASON, find_completion_signal, has_misplaced_promise
from ralph.core.incompletion import ClaimHistory
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


class TaggedState(Struct, frozen=True, kw_only=True):
    """The claim of the last agent run, whether one ran since the last check, and what came of those before."""

    claim: str = ""  # the signal that fired, in words
    worked: bool = False  # an agent ran since the last check: else it is the baseline that was checked
    is_misplaced: bool = False  # it made its promise where no promise counts
    history: ClaimHistory = ClaimHistory()


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
                state = self._read_report(state, reported, tally.iterations)
                return state, Check(self.gates, tally.iterations) if self.gates else self._save_or_finish(state, tally)
            case Checked() as checked:
                if state.worked:
                    state = replace(state, history=state.history.add_check(checked.failures, bool(state.claim)))
                if not checked.failures:
                    return state, self._save_or_finish(state, tally)
                feedback = (*(f.feedback for f in checked.failures if f.feedback), *_correct_promise(state))
                return TaggedState(history=state.history), _run_again(feedback)
            case Saved():
                return state, self._finish_if_claimed(state)
            case Forbidden(why):
                return state, self._finish_if_claimed(state, f"; SCM tasks skipped: {why}")
            case _:
                return state, _run_again()

    def explain_exhaustion(self, limits: Limits) -> str:
        return f"maximum iterations reached ({limits.iterations}) without completion"

    def explain_incompletion(self, state: TaggedState) -> str:
        """guardrails were green in 3 of 3 iterations, but the agent never answered <response>DONE</response>"""
        return state.history.explain(" or ".join(self._describe_signal(signal) for signal in self.signals))

    def _read_report(self, state: TaggedState, reported: Reported, iteration: int) -> TaggedState:
        claim = find_completion_signal(self.signals, self.expected, reported, will_be_checked=bool(self.gates))
        voided = find_completion_signal(self.signals, self.expected, reported, will_be_checked=True)
        misplaced = not claim and self._has_misplaced_promise(reported)
        history = state.history.add_report(iteration, reported, claim, voided)
        history = history.add_misplaced_promise(iteration) if misplaced else history
        return TaggedState(claim=claim, worked=True, is_misplaced=misplaced, history=history)

    def _has_misplaced_promise(self, reported: Reported) -> bool:
        ended_well = reported.outcome in ("finished", "refused")
        return ended_well and "promise" in self.signals and has_misplaced_promise(reported.text, (self.expected,))

    def _describe_signal(self, signal: str) -> str:
        if signal == "response":
            return f"answered <response>{self.expected}</response>"
        return f"promised <promise>{self.expected}</promise>" if signal == "promise" else f"created {signal[5:]}"

    def _save_or_finish(self, state: TaggedState, tally: Tally) -> Decision:
        return Save(tally.iterations) if self.saves and state.worked else self._finish_if_claimed(state)

    def _finish_if_claimed(self, state: TaggedState, note: str = "") -> Decision:
        if not state.claim:
            return _run_again(_correct_promise(state))
        count = len(self.gates)
        proof = f"{count} guardrail{'s' if count != 1 else ''} passed" if count else "no guardrails configured"
        return Stop(Outcome.COMPLETED, f"agent claimed {state.claim}, {proof}{note}")


def _correct_promise(state: TaggedState) -> tuple[Feedback, ...]:
    return (Feedback(MISPLACED_PROMISE_REASON),) if state.is_misplaced else ()


def _run_again(feedback: tuple[Feedback, ...] = ()) -> Decision:
    return RunAgent(Brief(iteration=0, limit=0, feedback=feedback))
