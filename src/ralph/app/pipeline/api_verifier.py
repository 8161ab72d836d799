"""`PromiseVerifier`: verifies one promise, in both of SpecFlow's forms."""

import enum
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, overload

from ralph.app.pipeline.verification import build_tools, verify_claim
from ralph.app.wiring import build_gate_variables
from ralph.core.claims import extract_promise_loosely
from ralph.core.tasks.contradictions import check_promise
from ralph.core.tasks.criteria import is_promise_made, list_accepted_promises
from ralph.model.enumerations import StageLike, name_stage
from ralph.model.ports import Processes
from ralph.model.spec import CompletionCriteria
from ralph.model.verdict import AskJudge, Claim, JudgeAnswer, Verdict
from ralph.process.supervisor import Supervisor

PromiseMatch = Literal["strict", "loose"]
VerificationContext = Mapping[str, object]
VERIFIER_STOP_GRACE_SECONDS = 5.0


class PromiseVerifier:
    """Verifies completion promises using the configured method.

    `judge(prompt)` answers for a small model in semantic verification; without one its heuristic decides.
    With `promise_match="loose"` the promise may stand anywhere, as SpecFlow had it.
    """

    def __init__(
        self,
        project: object = None,
        *,
        judge: Callable[[str], str | None] | None = None,
        promise_match: PromiseMatch = "strict",
    ) -> None:
        self.project = project
        self._judge = judge
        self._loose = promise_match == "loose"
        self._cancel_flags: set[_CancelFlag] = set()

    @overload
    def verify(
        self,
        criteria: CompletionCriteria,
        output: str,
        worktree_path: str | os.PathLike[str],
        context: VerificationContext | None = ...,
    ) -> tuple[bool, str]: ...

    @overload
    def verify(self, promise: str, output: str, context: VerificationContext | None = ...) -> tuple[bool, str]: ...

    def verify(  # type: ignore[misc]  # the forms give their third parameter two names; both are accepted
        self,
        criteria: CompletionCriteria | str = "",
        output: str = "",
        worktree_path: str | os.PathLike[str] | VerificationContext = Path(),
        context: VerificationContext | None = None,
        *,
        promise: str = "",
    ) -> tuple[bool, str]:
        """`(criteria, output, worktree_path, context)` by the criteria's method, or `(promise, output, context)` by
        form, contradictions and the rule of the context's stage. Returns (verified, reason)."""
        if isinstance(criteria, CompletionCriteria):
            folder = worktree_path if isinstance(worktree_path, str | os.PathLike) else Path()
            verdict = self.verdict(criteria, output, folder, context or {})
            return verdict.verified, verdict.reason
        known = context if context is not None else worktree_path if isinstance(worktree_path, Mapping) else {}
        return self.examine(criteria or promise, output, _read_name(known, "stage"))

    def verdict(
        self,
        criteria: CompletionCriteria,
        output: str,
        worktree_path: str | os.PathLike[str],
        context: VerificationContext,
    ) -> Verdict:
        """All that was found. The context may hold `agent`, `outcome`, `acceptance_criteria`, `diff` and `tree`."""
        wanted = context.get("acceptance_criteria")
        claim = Claim(
            promise=criteria.promise,
            output=output,
            folder=os.path.abspath(worktree_path),
            environment=build_gate_variables(os.environ, {}),
            agent=_read_name(context, "agent"),
            outcome=str(context.get("outcome", "")),
            acceptance_criteria=tuple(map(str, wanted)) if isinstance(wanted, list | tuple) else (),
            diff=lambda: str(context.get("diff", "")),
            tree=str(context.get("tree", "")),
            loose=self._loose,
        )
        judge = self._judge
        tools = build_tools(self._open_processes, _adapt_judge(judge) if judge else None, words=judge is None)
        return verify_claim(claim, criteria, tools)

    def examine(self, promise: str, output: str, stage: StageLike) -> tuple[bool, str]:
        """By form, contradictions and the rule of the stage."""
        return check_promise(self.is_promised(promise, output), output, name_stage(stage))

    def is_promised(self, promise: str, output: str) -> bool:
        """Whether the output makes that promise."""
        return (
            extract_promise_loosely(output) in list_accepted_promises(promise)
            if self._loose
            else is_promise_made(promise, output)
        )

    def stop(self) -> None:
        """End the commands that are running now, from another thread."""
        for flag in tuple(self._cancel_flags):
            flag.is_stopped = True

    @contextmanager
    def _open_processes(self) -> Iterator[Processes]:
        flag = _CancelFlag()
        self._cancel_flags.add(flag)
        supervisor = Supervisor(flag)
        try:
            yield supervisor
        finally:
            supervisor.close()
            self._cancel_flags.discard(flag)


class _CancelFlag:
    """An inbox that knows one wish: stop."""

    def __init__(self) -> None:
        self.is_stopped = False

    def fileno(self) -> None:
        """The supervisor asks often enough."""

    def poll_interruption(self) -> str:
        return "stopped by its caller" if self.is_stopped else ""

    def poll_stop_grace(self) -> float | None:
        return VERIFIER_STOP_GRACE_SECONDS if self.is_stopped else None

    def wait(self, seconds: float) -> None: ...


def _read_name(context: VerificationContext, key: str) -> str:
    value = context.get(key) or ""
    return name_stage(value) if isinstance(value, enum.Enum) else str(value)


def _adapt_judge(judge: Callable[[str], str | None]) -> AskJudge:
    def opinion(prompt: str, model: str) -> JudgeAnswer:
        answer = judge(prompt)
        return JudgeAnswer(text=answer) if answer else JudgeAnswer(problem="the judge gave no answer")

    return opinion
