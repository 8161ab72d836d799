"""Done when one task has passed coder, reviewer, tester and qa, each promise verified, and has landed."""

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.changes import changes
from ralph.core.criteria import made
from ralph.core.progress import Streak, fingerprint
from ralph.model.loop import (
    Brief,
    Decision,
    Feedback,
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

NO_PROMISE = "No completion promise found"


class StagePlan(Struct, frozen=True):
    """One agent's part."""

    role: str
    promise: str
    limit: int  # 1 where its loop is switched off
    lands_back: bool = True  # whether it may ask for changes


class Standing(Struct, frozen=True):
    """Where the task is."""

    stage: int = 0
    turn: int = 0  # runs of this stage so far
    sends: int = 0  # how often it was sent back
    changes: str = ""  # what a later stage wants of the coder
    resolving: bool = False  # this run is to resolve a merge conflict
    failures: Streak = Streak()
    stillness: Streak = Streak()


class Staged(Struct, frozen=True):
    """The rule of `ralph execute` for one task."""

    task: str
    stages: tuple[StagePlan, ...]
    max_send_backs: int = 3
    breaker: int = 5
    first: int = 0  # the stage it begins with: an earlier life has passed those before

    def begin(self, limits: Limits) -> tuple[Standing, Decision]:
        """The first agent."""
        return self._run(Standing(self.first))

    def decide(self, state: Standing, seen: Observation, tally: Tally, limits: Limits) -> tuple[Standing, Decision]:
        """Agent → promise → verification → next stage → landing."""
        match seen.fact:
            case Reported() as reported:
                return self._heard(replace(state, turn=state.turn + 1), reported)
            case Verified(verified=True):
                return self._passed(state)
            case Verified(reason=reason, tree=tree):
                still = replace(state, stillness=state.stillness.and_then(tree))
                return self._again(still, f"Verification failed: {reason}", reason)
            case Landed() as landed:
                return self._landed(state, landed)
            case _:
                return self._run(state)

    def exhausted(self, limits: Limits) -> str:
        """All stages together."""
        return f"Ralph loop exceeded {limits.iterations} iterations"

    def _heard(self, state: Standing, reported: Reported) -> tuple[Standing, Decision]:
        plan = self.stages[state.stage]
        if state.resolving:
            return state, Land()
        if reported.outcome != "finished":
            return self._again(state, reported.detail)
        wanted = changes(reported.text) if plan.lands_back and plan.role != self.stages[0].role else None
        if wanted:
            return self._sent_back(state, plan.role, wanted)
        if not made(plan.promise, reported.text):
            return self._again(state, NO_PROMISE)
        return state, Verify(plan.role, state.turn, plan.limit, reported.text)

    def _passed(self, state: Standing) -> tuple[Standing, Decision]:
        if state.stage + 1 == len(self.stages):
            return state, Land()
        return self._run(Standing(state.stage + 1, sends=state.sends))

    def _again(self, state: Standing, reason: str, last: str = "") -> tuple[Standing, Decision]:
        plan = self.stages[state.stage]
        state = replace(state, failures=state.failures.and_then(fingerprint(reason)))
        if state.turn >= plan.limit:
            told = f"Max iterations reached. Last verification: {last}" if last else _OUT
            return state, Stop(Outcome.EXHAUSTED, f"{plan.role}: Ralph loop exceeded {plan.limit} iterations. {told}")
        if state.failures.times >= self.breaker:
            return state, Stop(Outcome.STUCK, f"{plan.role}: the same failure {self.breaker} times in a row: {reason}")
        if state.stillness.times >= self.breaker:
            return state, Stop(Outcome.STUCK, f"{plan.role}: {self.breaker} promises in a row with nothing changed")
        return self._run(state, reason)

    def _sent_back(self, state: Standing, role: str, wanted: str) -> tuple[Standing, Decision]:
        if state.sends >= self.max_send_backs:
            return state, Stop(Outcome.EXHAUSTED, f"{role} sent it back more than {self.max_send_backs} times")
        return self._run(Standing(0, sends=state.sends + 1, changes=wanted))

    def _landed(self, state: Standing, landed: Landed) -> tuple[Standing, Decision]:
        if landed.done:
            return state, Stop(Outcome.COMPLETED, f"{self.task} passed every stage and landed as {landed.commit[:12]}")
        if landed.red:
            return self._sent_back(replace(state, resolving=False), "landing", f"On the merged tree: {landed.red}")
        if landed.problem or state.resolving:
            why = landed.problem or f"its branch still conflicts in {landed.conflict}"
            return state, Stop(Outcome.BLOCKED, f"{self.task} could not land: {why}")
        text = f"The target branch has moved and conflicts in: {landed.conflict}. Merge it here, resolve, commit."
        brief = Brief(0, 0, (Feedback(text),), None, self.stages[0].role, self.task)
        return replace(state, resolving=True), RunAgent(brief)

    def _run(self, state: Standing, reason: str = "") -> tuple[Standing, Decision]:
        plan = self.stages[state.stage]
        feedback = (Feedback(reason),) if reason else ()
        turn = state.turn + 1
        brief = Brief(0, 0, feedback, None, plan.role, self.task, turn=turn, turns=plan.limit, changes=state.changes)
        return state, RunAgent(brief)


_OUT = "Max iterations reached without completion promise"
