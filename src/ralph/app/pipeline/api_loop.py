"""`RalphLoop`: SpecFlow's loop as an object. Its caller runs the agent, it says whether to go on."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, overload

from ralph.app.pipeline.api_verifier import PromiseMatch, PromiseVerifier, VerificationContext
from ralph.core.claims import extract_promise_loosely
from ralph.model.enumerations import StageLike, name_stage
from ralph.model.spec import CompletionCriteria, TaskCompletionSpec, VerificationMethod

LIMIT_WITHOUT_PROMISE = "Max iterations reached without completion promise"
LOOP_CANCELLED = "Cancelled"


@dataclass
class RalphLoopConfig:
    """How loops are run where the task says nothing."""

    enabled: bool = True
    max_iterations: int = 10
    default_verification: VerificationMethod = VerificationMethod.STRING_MATCH
    completion_promise: str = "STAGE_COMPLETE"
    verify_promise: bool = True
    promise_match: PromiseMatch = "strict"


@dataclass
class RalphLoopState:
    """An active loop."""

    task_id: str
    agent_type: str
    iteration: int
    max_iterations: int
    completion_criteria: CompletionCriteria
    started_at: datetime
    verification_results: list[dict[str, object]] = field(default_factory=list)  # every attempt
    prompt: str = ""

    @property
    def stage(self) -> str:
        """The agent, as the first version called it."""
        return self.agent_type

    @property
    def completion_promise(self) -> str:
        return self.completion_criteria.promise


class TaskWithId(Protocol):
    """A task, as far as a loop needs one; with a `completion_spec`, verification knows the task's criteria."""

    @property
    def id(self) -> str: ...


class PromiseChecker(Protocol):
    """What verifies promises; `PromiseVerifier` does."""

    def verify(
        self, criteria: CompletionCriteria, output: str, worktree_path: Path, context: VerificationContext
    ) -> tuple[bool, str]:
        """Whether the promise holds, and the reason."""
        ...


class RalphLoop:
    """Manages Ralph-style iterative agent execution: `start`, then again and again `increment`, run the agent and
    `should_continue`, until that is False.

    The first version's form works, too: `start(task, stage, prompt)`, which counts the first run, then run the agent,
    `should_continue(output)`, compare `iteration` with the limit, and `increment`."""

    def __init__(self, config: RalphLoopConfig, project: object = None, verifier: PromiseChecker | None = None) -> None:
        self.config = config
        self.project = project
        ours = PromiseVerifier(project, promise_match=config.promise_match)
        self.verifier: PromiseChecker = verifier or ours
        self._promise_verifier = verifier if isinstance(verifier, PromiseVerifier) else ours
        self.state: RalphLoopState | None = None
        self._context: VerificationContext = {}
        self._uses_stage_rules = False  # of the stage; the task has no criteria
        self._cancelled_at: int | None = None  # the iteration

    def start(
        self,
        task: TaskWithId,
        agent_type: StageLike,
        criteria: CompletionCriteria | str | None = None,
        prompt: str = "",
    ) -> None:
        """Start a new loop for a task and agent, or stage; without criteria, by the config's own promise and
        verification. In the first version's form the prompt stands in their place."""
        agent = name_stage(agent_type)
        self._uses_stage_rules = isinstance(criteria, str)
        if isinstance(criteria, str):
            prompt, criteria = criteria, None
        criteria = criteria or CompletionCriteria(
            self.config.completion_promise, f"Complete {agent} stage", self.config.default_verification
        )
        self._cancelled_at = None
        self._context = _build_context(task, agent)
        self.state = RalphLoopState(
            task.id,
            agent,
            iteration=int(self._uses_stage_rules),
            max_iterations=criteria.max_iterations or self.config.max_iterations,
            completion_criteria=criteria,
            started_at=datetime.now(UTC),
            prompt=prompt,
        )

    @property
    def iteration(self) -> int:
        """Which run of the agent this is; 0 before the first."""
        return self.state.iteration if self.state else self._cancelled_at or 0

    def increment(self) -> int:
        """Count the run that is about to start."""
        state = self.state
        if state is None:
            return self._require_cancelled()
        state.iteration += 1
        return state.iteration

    @overload
    def should_continue(self, output: str) -> bool: ...

    @overload
    def should_continue(self, output: str, worktree_path: Path) -> tuple[bool, str]: ...

    def should_continue(self, output: str, worktree_path: Path | None = None) -> bool | tuple[bool, str]:
        """Whether the agent is to run again, and why; without a worktree, whether its promise is still owed: then the
        caller minds the limit, and only beyond it the answer is no."""
        state = self.state
        if state is None:
            self._require_cancelled()
            return False if worktree_path is None else (False, LOOP_CANCELLED)
        if worktree_path is None:
            return state.iteration <= state.max_iterations and not self._is_over(state, output)
        return self._answer(state, output, worktree_path)

    def extract_promise(self, output: str) -> str | None:
        """The first promise anywhere in the output. Finding one is not verifying it."""
        return extract_promise_loosely(output) or None

    def verify_promise(self, promise: str, output: str) -> bool:
        """By form, contradictions and the stage's rule; by form alone where the config verifies no promises."""
        if not self.config.verify_promise:
            return self._promise_verifier.is_promised(promise, output)
        return self._promise_verifier.examine(promise, output, self.state.agent_type if self.state else "")[0]

    def cancel(self) -> None:
        """Cancel the active loop, from any thread: a verification that is running is ended, the next question whether
        to continue is answered with no."""
        if self.state is not None:
            self._cancelled_at = self.state.iteration
            self._promise_verifier.stop()
            self.state = None

    def _answer(self, state: RalphLoopState, output: str, worktree_path: Path) -> tuple[bool, str]:
        if not self.extract_promise(output):
            return (False, LIMIT_WITHOUT_PROMISE) if _is_at_limit(state) else (True, "No completion promise found")
        verified, reason = self._record_attempt(state, output, worktree_path)
        if self._cancelled_at is not None:
            return False, LOOP_CANCELLED
        if verified:
            return False, "Completion verified"
        if _is_at_limit(state):
            return False, f"Max iterations reached. Last verification: {reason}"
        return True, f"Verification failed: {reason}"

    def _is_over(self, state: RalphLoopState, output: str) -> bool:
        verified = bool(self.extract_promise(output)) and self._record_attempt(state, output, Path())[0]
        return verified or self._cancelled_at is not None

    def _record_attempt(self, state: RalphLoopState, output: str, worktree_path: Path) -> tuple[bool, str]:
        verified, reason = self._verify(state, output, worktree_path)
        state.verification_results.append(_attempt_record(state.iteration, verified, reason))
        return verified, reason

    def _verify(self, state: RalphLoopState, output: str, worktree_path: Path) -> tuple[bool, str]:
        promise = state.completion_promise
        if not self.config.verify_promise:
            kept = self._promise_verifier.is_promised(promise, output)
            return kept, "Promise found in output" if kept else f"Promise '{promise}' not found in output"
        if self._uses_stage_rules:
            return self._promise_verifier.examine(promise, output, state.agent_type)
        return self.verifier.verify(
            criteria=state.completion_criteria, output=output, worktree_path=worktree_path, context=self._context
        )

    def _require_cancelled(self) -> int:
        if self._cancelled_at is None:
            raise RuntimeError("no loop is active; call start() first")
        return self._cancelled_at


def _build_context(task: TaskWithId, agent_type: str) -> VerificationContext:
    context: dict[str, object] = {"task_id": task.id, "agent": agent_type}
    spec = getattr(task, "completion_spec", None)
    if isinstance(spec, TaskCompletionSpec):
        context |= {"outcome": spec.outcome, "acceptance_criteria": spec.acceptance_criteria}
    return context


def _is_at_limit(state: RalphLoopState) -> bool:
    return state.iteration >= state.max_iterations


def _attempt_record(iteration: int, verified: bool, reason: str) -> dict[str, object]:
    return {
        "iteration": iteration,
        "promise_found": True,
        "verified": verified,
        "reason": reason,
        "timestamp": datetime.now(UTC).isoformat(),
    }
