"""Done when the task has its DONE mark and no child run is active: conductor-loop's root agent loop."""

from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.proofs.ruling import counts_as_proof, decide_on_sealed_check
from ralph.core.proofs.wording import (
    DIFF_COMMAND,
    OFF_NOTE,
    build_proof_feedback,
    describe_altered,
    describe_flagged_completion,
    describe_judge_approval,
    describe_notes,
    describe_sealed_pass,
    extract_explanation,
)
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
    Verified,
    Verify,
    Wait,
    add_reset_margin,
)
from ralph.model.proofs import ProofMode

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
    altered: str = ""  # the proofs that they do not pass without, in words
    left: tuple[str, ...] = ()  # child runs that were still active after the wait
    explanation: str = ""  # what the last agent says about changed proofs
    warned: frozenset[str] = frozenset()  # proofs an agent was told to put back
    passed: str = ""  # the checks that passed, and what is to be said about them
    sealed: Checked | None = None  # the last sealed check, while it is being judged


class DoneFilePolicy(Struct, frozen=True, kw_only=True):
    """cancelled → DONE → restarts used up → run → DONE → delay, and again. Only the mark completes, no exit code."""

    restart_delay: float = 1.0
    wait_timeout: float = 300.0
    max_wait: float = 0.0  # seconds a limit of the account is waited for; 0: it is restarted like any other
    gates: tuple[str, ...] = ()  # checks without which the mark does not count
    proofs: ProofMode = "warn"
    has_protected: bool = False  # there are files no agent may change
    has_judge: bool = False  # somebody can be asked about an explained change

    def begin(self, limits: Limits) -> tuple[DoneFileState, Decision]:
        """Looks before the first run: the mark may be there already."""
        return DoneFileState(), Look()

    def decide(
        self, state: DoneFileState, seen: Observation, tally: Tally, limits: Limits
    ) -> tuple[DoneFileState, Decision]:
        match seen.fact:
            case Looked() as looked:
                after = replace(state, ran=False, waits=False, limit_end=0.0, done=looked.done)
                return after, self._decide_after_look(state, looked, seen, limits)
            case Reported(exit_code=code, reset_at=reset, text=text):
                after = DoneFileState(
                    ran=True,
                    waits=code == WAIT_EXIT_CODE,
                    limit_end=reset or 0.0,
                    red=state.red,
                    altered=state.altered,
                    explanation=extract_explanation(text) if self.gates or self.has_protected else "",
                    warned=state.warned,
                )
                return after, Look()
            case Awaited(left) if state.done and (self.gates or self.has_protected):
                return replace(state, left=left), Check(self.gates, tally.iterations)
            case Checked(sealed=True) as checked:
                return self._judge_sealed(state, checked, tally, limits)
            case Checked() as checked if not checked.failures:
                return self._seal_or_complete(state, checked, tally)
            case Checked() as checked:
                feedback = tuple(failure.feedback for failure in checked.failures if failure.feedback)
                red = tuple(failure.gate for failure in checked.failures)
                after = DoneFileState(feedback=feedback, red=red, warned=state.warned)
                return after, Wait(self.restart_delay, "before the restart")
            case Verified() as verdict if state.sealed:
                return self._apply_judge_verdict(state, state.sealed, verdict, tally)
            case Awaited(left) if state.done:
                return state, Stop(Outcome.COMPLETED, _describe_completion(left, ran=tally.iterations > 0))
            case _:
                after = DoneFileState(
                    feedback=state.feedback, red=state.red, altered=state.altered, warned=state.warned
                )
                return after, Look()

    def explain_exhaustion(self, limits: Limits) -> str:
        return f"{MAX_RESTARTS_REASON}; {OFF_NOTE}" if self.proofs == "off" and self.gates else MAX_RESTARTS_REASON

    def explain_incompletion(self, state: DoneFileState) -> str:
        """DONE was there, but these checks failed: make test"""
        if state.altered:
            return f"DONE was there, but {state.altered}, and checks fail with the files as they were: {DIFF_COMMAND}"
        return f"DONE was there, but these checks failed: {', '.join(state.red)}" if state.red else ""

    def sign_progress(self, state: DoneFileState) -> str:
        return ""

    def _seal_or_complete(self, state: DoneFileState, checked: Checked, tally: Tally) -> tuple[DoneFileState, Decision]:
        """Green: where what the checks rest on was touched, they pass once more with it as it was."""
        passed = f"; checks passed: {', '.join(result.gate for result in checked.results)}" if checked.results else ""
        notes = describe_notes(checked.proofs) if self.proofs != "off" else OFF_NOTE if self.gates else ""
        state = replace(state, passed=f"{passed}; {notes}" if notes else passed)
        if any(counts_as_proof(change, self.proofs) for change in checked.proofs):
            return state, Check(self.gates, tally.iterations, sealed=True)
        return state, _complete(state, tally)

    def _judge_sealed(
        self, state: DoneFileState, checked: Checked, tally: Tally, limits: Limits
    ) -> tuple[DoneFileState, Decision]:
        match decide_on_sealed_check(self, state, checked, is_last_run=tally.iterations >= limits.iterations):
            case Stop() | Verify() as decision:
                return replace(state, sealed=checked), decision
            case "pass":
                return state, _complete(state, tally, describe_sealed_pass(checked.proofs) if checked.proofs else "")
            case "flag":
                return state, _complete_flagged(state, checked)
            case "put back":
                return self._ask_to_put_back(state, checked)
            case unknown:
                assert_never(unknown)

    def _apply_judge_verdict(
        self, state: DoneFileState, checked: Checked, verdict: Verified, tally: Tally
    ) -> tuple[DoneFileState, Decision]:
        state = replace(state, sealed=None)
        if verdict.verified:
            return state, _complete(state, tally, describe_judge_approval(checked.proofs, verdict.reason))
        if not verdict.judge:
            return state, _complete_flagged(state, checked, verdict.reason)
        return self._ask_to_put_back(state, checked, verdict.reason)

    def _ask_to_put_back(
        self, state: DoneFileState, checked: Checked, objection: str = ""
    ) -> tuple[DoneFileState, Decision]:
        feedback = build_proof_feedback(checked.proofs, checked.failures, checked.diff, judge=objection)
        red = tuple(failure.gate for failure in checked.failures)
        warned = state.warned | {change.path for change in checked.proofs}
        after = DoneFileState(feedback=(feedback,), red=red, altered=describe_altered(checked.proofs), warned=warned)
        return after, Wait(self.restart_delay, "before the restart")

    def _decide_after_look(self, state: DoneFileState, looked: Looked, seen: Observation, limits: Limits) -> Decision:
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


def _complete(state: DoneFileState, tally: Tally, note: str = "") -> Stop:
    said = _describe_completion(state.left, ran=tally.iterations > 0) + state.passed
    return Stop(Outcome.COMPLETED, f"{said}; {note}" if note else said)


def _complete_flagged(state: DoneFileState, checked: Checked, why: str = "") -> Stop:
    said = describe_flagged_completion(checked.proofs)
    return Stop(Outcome.COMPLETED, f"{said}; {why}" if why else said, flagged=True)


def _describe_completion(left: tuple[str, ...], *, ran: bool) -> str:
    if not left:
        return COMPLETED_REASON if ran else f"{COMPLETED_REASON}; {NO_AGENT_REASON}"
    return f"task completed (DONE marker present; still active after the wait: {', '.join(left)})"
