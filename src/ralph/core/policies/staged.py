"""Done when one task has passed coder, reviewer, tester and qa, each promise verified, and has landed."""

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.claims import MISPLACED_PROMISE_REASON, has_misplaced_promise
from ralph.core.progress import Streak, fingerprint_failure
from ralph.core.tasks.changes import extract_changes
from ralph.core.tasks.criteria import has_promise, list_accepted_promises
from ralph.core.tasks.landing_state import (
    MAX_STALE_LOOKS,
    LandingState,
    describe_conflict,
    describe_landing,
    describe_stale_tree,
)
from ralph.core.tasks.task_rules import describe_words_only
from ralph.model.loop import (
    Brief,
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

NO_PROMISE_REASON = "No completion promise found"
MAX_ITERATIONS_REASON = "Max iterations reached without completion promise"
MERGED_REASON = (
    "A merge conflict with the target was resolved since you last looked. Look at the whole work again, and at what the"
    " merge brought in."
)
REPAIR_ROLE = "coder"  # whose turn it is when someone asks for changes


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

    def begin(self, limits: Limits) -> tuple[StagedState, Decision]:
        """The first agent, or what was left undone; before that, what an earlier life has checked."""
        return self._confirm_or_begin(self.begins)

    def decide(
        self, state: StagedState, seen: Observation, tally: Tally, limits: Limits
    ) -> tuple[StagedState, Decision]:
        """Agent → promise → verification → next stage → landing."""
        match seen.fact:
            case Reported() as reported:
                stillness = state.stillness.extend(reported.tree)
                return self._judge_report(replace(state, turn=state.turn + 1, stillness=stillness), reported)
            case Verified() as verified if state.landing.confirming:
                return self._confirm(state, verified)
            case Verified(verified=True) as verified:
                return self._advance_stage(state, verified)
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
        if has_promise(reported.text, self.loose):
            return state, Verify(role=plan.role, turn=state.turn, turns=plan.limit, text=reported.text)
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
        landing = state.landing.pass_stage(role, verified)
        state = replace(state, by_words=words, landing=landing)
        if state.stage + 1 < len(self.stages):
            return self._run_stage(
                StagedState(stage=state.stage + 1, sends=state.sends, by_words=words, landing=landing)
            )
        if self.lands:
            return state, Land(verified.tree)
        return state, Stop(Outcome.COMPLETED, f"{self.task} passed {', '.join(plan.role for plan in self.stages)}")

    def _count_failure(self, state: StagedState, reason: str, last: str = "") -> tuple[StagedState, Decision]:
        return self._retry_or_stop(
            replace(state, failures=state.failures.extend(fingerprint_failure(reason))), reason, last
        )

    def _retry_or_stop(self, state: StagedState, reason: str, last: str = "") -> tuple[StagedState, Decision]:
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
        return self._run_stage(state, reason)

    def _send_back(self, state: StagedState, by: str, wanted: str) -> tuple[StagedState, Decision]:
        repairs = next((index for index, plan in enumerate(self.stages) if plan.role == REPAIR_ROLE), None)
        if repairs is None:
            why = f"{by} asks for changes, and {REPAIR_ROLE} is not among the stages: {wanted}"
            return state, Stop(Outcome.STUCK, why)
        if state.sends >= self.max_send_backs:
            why = f"{by} sent it back more than {self.max_send_backs} times: {wanted}"
            return state, Stop(Outcome.EXHAUSTED, why)
        return self._run_stage(StagedState(stage=repairs, sends=state.sends + 1, changes=wanted))

    def _handle_landing(self, state: StagedState, landed: Landed) -> tuple[StagedState, Decision]:
        if landed.done:
            words = "".join(f", {each}" for each in (describe_words_only(state.by_words),) if each)
            why = describe_landing(self.task, landed, words) + state.landing.describe()
            return state, Stop(Outcome.COMPLETED, why)
        if landed.stale:
            return self._look_again(state, landed)
        if landed.red:
            return self._send_back(state, "landing", f"On the merged tree: {landed.red}")
        if landed.problem or state.landing.is_unresolvable(landed):
            why = landed.problem or f"its branch still conflicts in {landed.conflict}"
            return state, Stop(Outcome.BLOCKED, f"{self.task} could not land: {why}")
        feedback = (Feedback(describe_conflict(landed)),)
        brief = Brief(iteration=0, limit=0, feedback=feedback, role=self.stages[0].role, story=self.task)
        return replace(state, resolving=True, landing=state.landing.meet_conflict(landed)), RunAgent(brief)

    def _look_again(self, state: StagedState, landed: Landed) -> tuple[StagedState, Decision]:
        reason = describe_stale_tree(landed)
        landing = state.landing.look_again()
        if landing.stale_looks > MAX_STALE_LOOKS:
            return state, Stop(Outcome.BLOCKED, f"{self.task} could not land: {reason}")
        again = StagedState(stage=state.stage, sends=state.sends, by_words=state.by_words, landing=landing)
        return self._run_stage(again, reason)

    def _confirm_or_begin(self, state: StagedState) -> tuple[StagedState, Decision]:
        if state.landing.confirming:
            return state, Verify(role=state.landing.confirming[0], turn=0, turns=0, text="", again=True)
        return self._run_stage(state) if self.wanted is None else (state, self.wanted)

    def _confirm(self, state: StagedState, verified: Verified) -> tuple[StagedState, Decision]:
        """What an earlier life had checked was checked again."""
        role = state.landing.confirming[0]
        if verified.verified:
            return self._confirm_or_begin(replace(state, landing=state.landing.confirm()))
        return self._send_back(state, role, f"Its check had passed before, and fails now: {verified.reason}")

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
        )
        return state, RunAgent(brief)


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
