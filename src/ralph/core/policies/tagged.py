"""Done when the agent says so in the agreed way and every guardrail passes."""

from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.claims import MISPLACED_PROMISE_REASON, find_completion_signal, has_misplaced_promise
from ralph.core.incompletion import ClaimHistory
from ralph.core.proofs.ruling import counts_as_proof, decide_on_sealed_check
from ralph.core.proofs.wording import (
    OFF_NOTE,
    build_proof_feedback,
    describe_altered,
    describe_flagged_completion,
    describe_judge_approval,
    describe_notes,
    describe_sealed_pass,
    extract_explanation,
)
from ralph.core.refusal import build_refusal_feedback
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
    Resumed,
    RunAgent,
    Save,
    Saved,
    Stop,
    Tally,
    Verified,
    Verify,
)
from ralph.model.proofs import ProofChange, ProofMode


class TaggedState(Struct, frozen=True, kw_only=True):
    """The claim of the last agent run, whether one ran since the last check, and what came of those before."""

    claim: str = ""  # the signal that fired, in words
    worked: bool = False  # an agent ran since the last check: else it is the baseline that was checked
    is_misplaced: bool = False  # it made its promise where no promise counts
    refusal: Feedback | None = None  # it was not permitted something
    proofs: tuple[ProofChange, ...] = ()  # what is not as it was at the baseline
    explanation: str = ""  # what the agent says about that
    warned: frozenset[str] = frozenset()  # proofs an agent was told to put back
    sealed: Checked | None = None  # the last sealed check, while it is being judged
    note: str = ""  # what completion is to mention
    flag: str = ""  # what a person has to look at
    history: ClaimHistory = ClaimHistory()


class TagPolicy(Struct, frozen=True, kw_only=True):
    """The rule of `ralph run`."""

    gates: tuple[str, ...] = ()
    signals: tuple[str, ...] = ("response",)
    expected: str = "DONE"
    saves: bool = False  # SCM tasks after every passing iteration
    baseline: bool = False  # check once before the first agent
    proofs: ProofMode = "warn"
    has_judge: bool = False  # somebody can be asked about an explained change

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
                return state, Check(self.gates, tally.iterations) if self.gates else self._seal_or_save(state, tally)
            case Checked(sealed=True) as checked:
                return self._judge_sealed(state, checked, tally, limits)
            case Checked() as checked:
                if state.worked:
                    state = replace(state, history=state.history.add_check(checked.failures, bool(state.claim)))
                if not checked.failures:
                    state = replace(state, proofs=checked.proofs or state.proofs)
                    return state, self._seal_or_save(state, tally)
                feedback = (*(f.feedback for f in checked.failures if f.feedback), *_list_corrections(state))
                return _start_over(state), _run_again(feedback)
            case Verified() as verdict if state.sealed:
                return self._apply_judge_verdict(state, state.sealed, verdict, tally)
            case Resumed() if state.sealed:  # it was refused: a person may have accepted the change meanwhile
                return state, Check(self.gates, tally.iterations, sealed=True)
            case Resumed(rechecks=True):
                state = replace(state, sealed=None, note="", flag="")
                return state, Check(self.gates, tally.iterations) if self.gates else self._seal_or_save(state, tally)
            case Saved():
                return state, self._finish_if_claimed(state)
            case Forbidden(why):
                return state, self._finish_if_claimed(state, f"; SCM tasks skipped: {why}")
            case _:
                return state, _run_again()

    def explain_exhaustion(self, limits: Limits) -> str:
        return f"maximum iterations reached ({limits.iterations}) without completion{self._mention_off()}"

    def explain_incompletion(self, state: TaggedState) -> str:
        """guardrails were green in 3 of 3 iterations, but the agent never answered <response>DONE</response>"""
        return state.history.explain(" or ".join(self._describe_signal(signal) for signal in self.signals))

    def sign_progress(self, state: TaggedState) -> str:
        return ""

    def _read_report(self, state: TaggedState, reported: Reported, iteration: int) -> TaggedState:
        claim = find_completion_signal(self.signals, self.expected, reported, will_be_checked=bool(self.gates))
        voided = find_completion_signal(self.signals, self.expected, reported, will_be_checked=True)
        misplaced = not claim and self._has_misplaced_promise(reported)
        history = state.history.add_report(iteration, reported, claim, voided)
        history = history.add_misplaced_promise(iteration) if misplaced else history
        return TaggedState(
            claim=claim,
            worked=True,
            is_misplaced=misplaced,
            refusal=build_refusal_feedback(reported) if reported.refused_tools else None,
            proofs=reported.proofs,
            explanation=extract_explanation(reported.text) if reported.proofs else "",
            warned=state.warned,
            history=history,
        )

    def _has_misplaced_promise(self, reported: Reported) -> bool:
        ended_well = reported.outcome in ("finished", "refused")
        return ended_well and "promise" in self.signals and has_misplaced_promise(reported.text, (self.expected,))

    def _describe_signal(self, signal: str) -> str:
        if signal == "response":
            return f"answered <response>{self.expected}</response>"
        return f"promised <promise>{self.expected}</promise>" if signal == "promise" else f"created {signal[5:]}"

    def _seal_or_save(self, state: TaggedState, tally: Tally) -> Decision:
        """Green, and claimed: where what the checks rest on was touched, they pass once more with it as it was."""
        if state.claim and any(counts_as_proof(change, self.proofs) for change in state.proofs):
            return Check(self.gates, tally.iterations, sealed=True)
        return self._save_or_finish(state, tally)

    def _judge_sealed(
        self, state: TaggedState, checked: Checked, tally: Tally, limits: Limits
    ) -> tuple[TaggedState, Decision]:
        """Green: complete. Red: to be put back or explained; where that was refused before, it is the end."""
        match decide_on_sealed_check(self, state, checked, is_last_run=tally.iterations >= limits.iterations):
            case Stop() | Verify() as decision:
                return replace(state, sealed=checked), decision
            case "pass":
                note = f"; {describe_sealed_pass(checked.proofs)}" if checked.proofs else ""
                state = replace(state, sealed=None, note=note)
                return state, self._save_or_finish(state, tally)
            case "flag":
                state = replace(state, sealed=None, flag=describe_flagged_completion(checked.proofs))
                return state, self._save_or_finish(state, tally)
            case "put back":
                return self._ask_to_put_back(state, checked)
            case unknown:
                assert_never(unknown)

    def _apply_judge_verdict(
        self, state: TaggedState, checked: Checked, verdict: Verified, tally: Tally
    ) -> tuple[TaggedState, Decision]:
        if verdict.verified:
            state = replace(state, sealed=None, note=f"; {describe_judge_approval(checked.proofs, verdict.reason)}")
            return state, self._save_or_finish(state, tally)
        if not verdict.judge:  # nobody answered: a person has to look
            flag = describe_flagged_completion(checked.proofs)
            state = replace(state, sealed=None, flag=flag, note=f"; {verdict.reason}")
            return state, self._save_or_finish(state, tally)
        return self._ask_to_put_back(state, checked, verdict.reason)

    def _ask_to_put_back(
        self, state: TaggedState, checked: Checked, objection: str = ""
    ) -> tuple[TaggedState, Decision]:
        feedback = build_proof_feedback(checked.proofs, checked.failures, checked.diff, judge=objection)
        history = state.history.add_altered_proofs(describe_altered(checked.proofs), checked.failures)
        warned = state.warned | {change.path for change in checked.proofs}
        return TaggedState(history=history, warned=warned), _run_again((feedback,))

    def _save_or_finish(self, state: TaggedState, tally: Tally) -> Decision:
        return Save(tally.iterations) if self.saves and state.worked else self._finish_if_claimed(state)

    def _finish_if_claimed(self, state: TaggedState, note: str = "") -> Decision:
        if not state.claim:
            return _run_again(_list_corrections(state))
        notes = f"{state.note}{self._mention_new_checks(state)}{note}{self._mention_off()}"
        if state.flag:
            return Stop(Outcome.COMPLETED, f"{state.flag}{notes}", flagged=True)
        count = len(self.gates)
        proof = f"{count} guardrail{'s' if count != 1 else ''} passed" if count else "no guardrails configured"
        return Stop(Outcome.COMPLETED, f"agent claimed {state.claim}, {proof}{notes}")

    def _mention_new_checks(self, state: TaggedState) -> str:
        found = describe_notes(state.proofs) if self.proofs != "off" else ""
        return f"; {found}" if found else ""

    def _mention_off(self) -> str:
        return f"; {OFF_NOTE}" if self.proofs == "off" else ""


def _start_over(state: TaggedState) -> TaggedState:
    return TaggedState(history=state.history, warned=state.warned)


def _list_corrections(state: TaggedState) -> tuple[Feedback, ...]:
    """What the next agent is to do otherwise, whatever the checks say."""
    promise = (Feedback(MISPLACED_PROMISE_REASON),) if state.is_misplaced else ()
    return (*promise, state.refusal) if state.refusal else promise


def _run_again(feedback: tuple[Feedback, ...] = ()) -> Decision:
    return RunAgent(Brief(iteration=0, limit=0, feedback=feedback))
