"""Done when one task has passed coder, reviewer, tester and qa, each promise verified, and has landed."""

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.claims import MISPLACED_PROMISE_REASON, has_misplaced_promise
from ralph.core.progress import Streak, fingerprint_failure
from ralph.core.proofs.wording import OFF_NOTE, describe_refused_proofs, join_paths
from ralph.core.tasks.changes import extract_changes
from ralph.core.tasks.criteria import has_promise, list_accepted_promises
from ralph.core.tasks.landing_state import (
    MAX_STALE_LOOKS,
    LandingState,
    describe_conflict,
    describe_landing,
    describe_stale_tree,
)
from ralph.core.tasks.proof_state import ProofState, build_stage_feedback
from ralph.core.tasks.task_rules import describe_words_only
from ralph.model.loop import (
    Brief,
    Checked,
    Decision,
    Feedback,
    Forbidden,
    Land,
    Landed,
    Limits,
    Observation,
    Outcome,
    Reported,
    RunAgent,
    Stop,
    Tally,
    Verified,
    Verify,
)
from ralph.model.proofs import ProofMode

NO_PROMISE_REASON = "No completion promise found"
MAX_ITERATIONS_REASON = "Max iterations reached without completion promise"
MERGED_REASON = (
    "A merge conflict with the target was resolved since you last looked. Look at the whole work again, and at what the"
    " merge brought in."
)
REPAIR_ROLE = "coder"  # whose turn it is when someone asks for changes
REVIEW_ROLE = "reviewer"  # who looks at the work, changes nothing, and is asked about changed proofs


class StagePlan(Struct, frozen=True, kw_only=True):
    """One stage: its role, its promise and how many runs it may have."""

    role: str
    promise: str  # whether it is the one that was made is verified; with another, it is another plan
    limit: int
    loops: bool = True  # False: one single pass


class StagedState(Struct, frozen=True, kw_only=True):
    """Which stage the task is in, its turn, and the streaks that end it. Stored with the run: fields are wire
    format."""

    stage: int = 0
    turn: int = 0  # runs of this stage so far
    sends: int = 0  # how often it was sent back
    changes: str = ""  # what a later stage wants of the coder
    resolving: bool = False  # this run is to resolve a merge conflict
    failures: Streak = Streak()
    stillness: Streak = Streak()
    by_words: tuple[str, ...] = ()  # stages that passed by words only
    landing: LandingState = LandingState()
    proof: ProofState = ProofState()
    promised: str = ""  # the message whose promise was verified last


class PipelinePolicy(Struct, frozen=True, kw_only=True):
    """The completion rule of `ralph execute` for one task. Stored with the run: fields are wire format."""

    task: str
    stages: tuple[StagePlan, ...]
    max_send_backs: int = 3
    breaker: int = 5  # 0: the limits of the loop say when it is stuck
    begins: StagedState = StagedState()  # where an earlier life left it
    wanted: Decision | None = None  # what that life had decided and not done; None: the next agent run
    lands: bool = True  # False: the last stage here is not the last of all
    loose: bool = False  # seed 002's matching of promises
    proven_roles: tuple[str, ...] = ()  # whose verification looks at files: there a refusal voids no promise
    confirmed_roles: tuple[str, ...] = ()  # whose commands run again in a later life; of those with the same, one
    proofs: ProofMode = "warn"

    def begin(self, limits: Limits) -> tuple[StagedState, Decision]:
        """The first agent, or what was left undone; before that, what an earlier life has checked."""
        return self._confirm_or_begin(self.begins)

    def decide(
        self, state: StagedState, seen: Observation, tally: Tally, limits: Limits
    ) -> tuple[StagedState, Decision]:
        """Agent → promise → verification → next stage → landing."""
        state, decision = self._decide(state, seen)
        if isinstance(decision, Stop) and self.proofs == "off":
            decision = replace(decision, why=f"{decision.why}; {OFF_NOTE}")
        return state, decision

    def _decide(self, state: StagedState, seen: Observation) -> tuple[StagedState, Decision]:
        match seen.fact:
            case Reported() as reported:
                state = replace(
                    state,
                    turn=state.turn + 1,
                    stillness=state.stillness.extend(reported.tree),
                    proof=state.proof.read_report(reported, can_explain=self.stages[state.stage].role == REPAIR_ROLE),
                )
                return self._judge_report(state, reported)
            case Verified() as verified if state.landing.confirming:
                return self._confirm(state, verified)
            case Verified(verified=True) as verified:
                return self._advance_stage(state, verified)
            case Verified(sealed=Checked() as sealed) as verified:
                return self._refuse_proofs(state, sealed, verified)
            case Verified(reason=reason):
                return self._count_failure(state, f"Verification failed: {reason}", reason)
            case Landed() as landed:
                return self._handle_landing(state, landed)
            case Forbidden(why):
                return state, Stop(Outcome.OVER_BUDGET, why)
            case _:
                return self._run_stage(state)

    def explain_exhaustion(self, limits: Limits) -> str:
        return f"Ralph loop exceeded {limits.iterations} iterations"

    def explain_incompletion(self, state: StagedState) -> str:
        return ""  # each stage stops by itself, and says why

    def sign_progress(self, state: StagedState) -> str:
        return ""

    def _judge_report(self, state: StagedState, reported: Reported) -> tuple[StagedState, Decision]:
        plan = self.stages[state.stage]
        if state.resolving:
            return self._judge_resolution(replace(state, resolving=False), reported)
        if not is_answer(reported, is_proven=plan.role in self.proven_roles):
            return self._count_failure(state, reported.detail)
        if wanted := extract_wanted_changes(plan.role, reported.text):
            return self._send_back(state, plan.role, wanted)
        if reported.undone:
            has_turn = plan.loops and state.turn < plan.limit
            if has_turn and not state.proof.has_told_undone:
                return self._tell_undone(state, reported.undone)
            state = replace(state, proof=state.proof.note_undone(plan.role, reported.undone))
        if has_promise(reported.text, self.loose):
            state = replace(state, promised=reported.text)
            return state, self.build_verify(state)
        if reported.outcome != "finished":
            return self._count_failure(state, reported.detail)
        if not self.loose and has_misplaced_promise(reported.text, list_accepted_promises(plan.promise)):
            return self._count_failure(state, MISPLACED_PROMISE_REASON)
        # Work that goes on without a promise is no failure; work that stands still is another matter.
        return self._retry_or_stop(replace(state, failures=Streak()), NO_PROMISE_REASON)

    def _judge_resolution(self, state: StagedState, reported: Reported) -> tuple[StagedState, Decision]:
        """Where the tree is still the one that the last stage saw it lands; another one it has to see first."""
        proven = state.landing.proven
        if proven and reported.tree == proven:
            return state, Land(proven)
        return self._run_stage(replace(state, turn=0, failures=Streak(), stillness=Streak()), MERGED_REASON)

    def _advance_stage(self, state: StagedState, verified: Verified) -> tuple[StagedState, Decision]:
        role = self.stages[state.stage].role
        words = (*(other for other in state.by_words if other != role), *((role,) if verified.by_words else ()))
        has_reviewer = any(plan.role == REVIEW_ROLE for plan in self.stages[state.stage + 1 :])
        proof = state.proof.pass_stage(verified, has_reviewer=has_reviewer)
        landing = state.landing.pass_stage(role, verified)
        state = replace(state, by_words=words, proof=proof, landing=landing)
        if state.stage + 1 < len(self.stages):
            return self._run_stage(
                StagedState(
                    stage=state.stage + 1,
                    sends=state.sends,
                    by_words=words,
                    landing=landing,
                    proof=proof.begin_stage(),
                )
            )
        if self.lands:
            return state, Land(verified.tree)
        return state, self._complete(state, f"{self.task} passed {', '.join(plan.role for plan in self.stages)}")

    def build_verify(self, state: StagedState) -> Verify:
        """Of the promise that was made last."""
        plan, proof = self.stages[state.stage], state.proof
        return Verify(
            role=plan.role,
            turn=state.turn,
            turns=plan.limit,
            text=state.promised,
            proofs=proof.disputed if plan.role == REVIEW_ROLE else (),
            explanation=proof.explanation,
        )

    def _refuse_proofs(self, state: StagedState, sealed: Checked, verified: Verified) -> tuple[StagedState, Decision]:
        """The checks are green, and not with the proofs as they were. Whoever changed them puts them back or, as the
        coder, explains it; where that is not for an agent to say, it is the end once it was told."""
        plan = self.stages[state.stage]
        can_explain = plan.role == REPAIR_ROLE
        is_final = self.proofs == "strict" or any(change.protected for change in sealed.proofs)
        has_no_turn = not plan.loops or state.turn >= plan.limit
        if is_final and (state.proof.is_warned(sealed) or has_no_turn):
            return state, Stop(Outcome.TAMPERED, f"{plan.role}: {describe_refused_proofs(sealed.proofs)}")
        objection = verified.reason if verified.proof_judge else ""
        feedback = build_stage_feedback(sealed, can_explain=can_explain, objection=objection).text
        state = replace(state, proof=state.proof.refuse(sealed))
        if not can_explain and state.proof.is_inherited(sealed):
            return self._send_back(state, plan.role, feedback)
        state = replace(state, failures=state.failures.extend(fingerprint_failure(verified.reason)))
        return self._retry_or_stop(state, verified.reason, verified.reason, feedback=feedback)

    def _tell_undone(self, state: StagedState, paths: tuple[str, ...]) -> tuple[StagedState, Decision]:
        """Its promise may be about what is not there any more; the next one knows."""
        state = replace(state, proof=replace(state.proof, has_told_undone=True))
        return self._count_failure(state, describe_undone(paths))

    def _count_failure(self, state: StagedState, reason: str, last: str = "") -> tuple[StagedState, Decision]:
        return self._retry_or_stop(
            replace(state, failures=state.failures.extend(fingerprint_failure(reason))), reason, last
        )

    def _retry_or_stop(
        self, state: StagedState, reason: str, last: str = "", *, feedback: str = ""
    ) -> tuple[StagedState, Decision]:
        """`feedback`: what the next agent is told, where that is more than the reason."""
        plan = self.stages[state.stage]
        if not plan.loops:
            return state, Stop(Outcome.EXHAUSTED, f"{plan.role}: its single pass was not enough: {reason}")
        if state.turn >= plan.limit:
            ending = f"Max iterations reached. Last verification: {last}" if last else MAX_ITERATIONS_REASON
            return state, Stop(Outcome.EXHAUSTED, f"{plan.role}: Ralph loop exceeded {plan.limit} iterations. {ending}")
        if self.breaker and state.failures.times >= self.breaker:
            return state, Stop(Outcome.STUCK, f"{plan.role}: the same failure {self.breaker} times in a row: {reason}")
        if self.breaker and state.stillness.times >= self.breaker:
            still = f"{self.breaker} runs in a row left the tree as it was"
            return state, Stop(Outcome.STUCK, f"{plan.role}: {still}: {reason}")
        return self._run_stage(state, feedback or reason)

    def _send_back(self, state: StagedState, by: str, wanted: str) -> tuple[StagedState, Decision]:
        repairs = next((index for index, plan in enumerate(self.stages) if plan.role == REPAIR_ROLE), None)
        if repairs is None:
            why = f"{by} asks for changes, and {REPAIR_ROLE} is not among the stages: {wanted}"
            return state, Stop(Outcome.STUCK, why)
        if state.sends >= self.max_send_backs:
            why = f"{by} sent it back more than {self.max_send_backs} times: {wanted}"
            return state, Stop(Outcome.EXHAUSTED, why)
        proof = state.proof.begin_repair()
        return self._run_stage(StagedState(stage=repairs, sends=state.sends + 1, changes=wanted, proof=proof))

    def _handle_landing(self, state: StagedState, landed: Landed) -> tuple[StagedState, Decision]:
        if landed.done:
            words = "".join(f", {each}" for each in (describe_words_only(state.by_words),) if each)
            why = describe_landing(self.task, landed, words) + state.landing.describe()
            return state, self._complete(state, why)
        if landed.stale:
            return self._look_again(state, landed)
        if landed.red:
            return self._send_back(state, "landing", f"On the merged tree: {landed.red}")
        if landed.problem or state.landing.is_unresolvable(landed):
            why = landed.problem or f"its branch still conflicts in {landed.conflict}"
            return state, Stop(Outcome.BLOCKED, f"{self.task} could not be merged: {why}")
        feedback = (Feedback(describe_conflict(landed)),)
        brief = Brief(iteration=0, limit=0, feedback=feedback, role=self.stages[0].role, story=self.task)
        return replace(state, resolving=True, landing=state.landing.meet_conflict(landed)), RunAgent(brief)

    def _look_again(self, state: StagedState, landed: Landed) -> tuple[StagedState, Decision]:
        reason = describe_stale_tree(landed)
        landing = state.landing.look_again()
        if landing.stale_looks > MAX_STALE_LOOKS:
            return state, Stop(Outcome.BLOCKED, f"{self.task} could not be merged: {reason}")
        again = StagedState(
            stage=state.stage, sends=state.sends, by_words=state.by_words, landing=landing, proof=state.proof
        )
        return self._run_stage(again, reason)

    def _confirm_or_begin(self, state: StagedState) -> tuple[StagedState, Decision]:
        if state.landing.confirming:
            explanation = state.proof.explanation
            role = state.landing.confirming[0]
            return state, Verify(role=role, turn=0, turns=0, text="", again=True, explanation=explanation)
        return self._run_stage(state) if self.wanted is None else (state, self.wanted)

    def _confirm(self, state: StagedState, verified: Verified) -> tuple[StagedState, Decision]:
        """What an earlier life had checked was checked again."""
        role = state.landing.confirming[0]
        if verified.verified:
            return self._confirm_or_begin(replace(state, landing=state.landing.confirm()))
        wanted = f"Its check had passed before, and fails now: {verified.reason}"
        if verified.sealed is not None:
            wanted += f"\n\n{build_stage_feedback(verified.sealed, can_explain=True).text}"
        return self._send_back(state, role, wanted)

    def _complete(self, state: StagedState, why: str) -> Stop:
        """What a person should know of changed proofs stands in the last line, if not first in it."""
        notes, flag = state.proof.describe(), state.proof.flag
        if flag:
            return Stop(Outcome.COMPLETED, f"{flag}; {why}{notes}", flagged=True)
        return Stop(Outcome.COMPLETED, f"{why}{notes}")

    def _run_stage(self, state: StagedState, reason: str = "") -> tuple[StagedState, Decision]:
        plan = self.stages[state.stage]
        feedback = (Feedback(reason),) if reason else ()
        turn = state.turn + 1
        brief = Brief(
            iteration=0,
            limit=0,
            feedback=feedback,
            role=plan.role,
            story=self.task,
            turn=turn,
            turns=plan.limit,
            changes=state.changes,
            proofs=state.proof.disputed if plan.role == REVIEW_ROLE else (),
            explanation=state.proof.explanation if plan.role == REVIEW_ROLE and state.proof.disputed else "",
        )
        return state, RunAgent(brief)


def describe_undone(paths: tuple[str, ...]) -> str:
    """For a reviewer that edits."""
    return (
        f"A review changes nothing: your edits of {join_paths(paths)} were undone. Look at the work as it is. Approve"
        " it, or say in <changes> what must change"
    )


def is_answer(reported: Reported, *, is_proven: bool) -> bool:
    """Whether what the run said counts. A refusal voids it, unless a look at the files will decide."""
    return reported.outcome == "finished" or (is_proven and bool(reported.refused_tools))


def explain_missing_promise(role: str, reported: Reported, promise: str) -> str:
    """Why a run without a promise did not complete its stage, for the log."""
    if reported.outcome != "finished":
        return reported.detail
    if wanted := extract_wanted_changes(role, reported.text):
        return f"Changes wanted: {wanted}"
    misplaced = has_misplaced_promise(reported.text, list_accepted_promises(promise))
    return MISPLACED_PROMISE_REASON if misplaced else NO_PROMISE_REASON


def extract_wanted_changes(role: str, text: str) -> str | None:
    """The changes a reviewer, tester or qa asks for; None for the coder. They outweigh a promise in the same
    message."""
    return extract_changes(text) if role != REPAIR_ROLE else None
