"""`PromiseVerifier`: verifies one promise, in both of SpecFlow's forms."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, overload

from ralph.app.pipeline.verification import tools_of, verdict_on
from ralph.core.claims import promise_anywhere
from ralph.core.environment import of_gate
from ralph.core.tasks.contradictions import examined
from ralph.core.tasks.criteria import accepted, made
from ralph.model.ports import Processes
from ralph.model.spec import CompletionCriteria
from ralph.model.verdict import Claim, Judge, Opinion, Verdict
from ralph.process.supervisor import Supervisor

PromiseMatch = Literal["strict", "loose"]
Context = Mapping[str, object]
GRACE = 5.0


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
        self._doors: set[_Door] = set()

    @overload
    def verify(
        self,
        criteria: CompletionCriteria,
        output: str,
        worktree_path: str | os.PathLike[str],
        context: Context | None = ...,
    ) -> tuple[bool, str]: ...

    @overload
    def verify(self, promise: str, output: str, context: Context | None = ...) -> tuple[bool, str]: ...

    def verify(  # type: ignore[misc]  # the forms give their third parameter two names; both are accepted
        self,
        criteria: CompletionCriteria | str = "",
        output: str = "",
        worktree_path: str | os.PathLike[str] | Context = Path(),
        context: Context | None = None,
        *,
        promise: str = "",
    ) -> tuple[bool, str]:
        """`(criteria, output, worktree_path, context)` by the criteria's method, or `(promise, output, context)` by
        form, contradictions and the rule of the context's stage. Returns (verified, reason)."""
        if isinstance(criteria, CompletionCriteria):
            folder = worktree_path if isinstance(worktree_path, str | os.PathLike) else Path()
            verdict = self.verdict(criteria, output, folder, context or {})
            return verdict.verified, verdict.reason
        told = context if context is not None else worktree_path if isinstance(worktree_path, Mapping) else {}
        return self.examine(criteria or promise, output, str(told.get("stage", "")))

    def verdict(
        self, criteria: CompletionCriteria, output: str, worktree_path: str | os.PathLike[str], context: Context
    ) -> Verdict:
        """All that was found. The context may hold `agent`, `outcome`, `acceptance_criteria`, `diff` and `tree`."""
        wanted = context.get("acceptance_criteria")
        claim = Claim(
            criteria.promise,
            output,
            os.path.abspath(worktree_path),
            of_gate(os.environ, {}),
            agent=str(context.get("agent", "")),
            outcome=str(context.get("outcome", "")),
            acceptance_criteria=tuple(map(str, wanted)) if isinstance(wanted, list | tuple) else (),
            diff=lambda: str(context.get("diff", "")),
            tree=str(context.get("tree", "")),
            loose=self._loose,
        )
        judge = self._judge
        return verdict_on(claim, criteria, tools_of(self._processes, _asked(judge) if judge else None))

    def examine(self, promise: str, output: str, stage: str) -> tuple[bool, str]:
        """By form, contradictions and the rule of the stage."""
        return examined(self.promised(promise, output), output, stage)

    def promised(self, promise: str, output: str) -> bool:
        """Whether the output makes that promise."""
        return promise_anywhere(output) in accepted(promise) if self._loose else made(promise, output)

    def stop(self) -> None:
        """End the commands that are running now, from another thread."""
        for door in tuple(self._doors):
            door.stopped = True

    @contextmanager
    def _processes(self) -> Iterator[Processes]:
        door = _Door()
        self._doors.add(door)
        supervisor = Supervisor(door)
        try:
            yield supervisor
        finally:
            supervisor.close()
            self._doors.discard(door)
            door.close()


class _Door:
    """An inbox that knows one wish: stop."""

    def __init__(self) -> None:
        self.stopped = False
        self._silent, self._unused = os.pipe()

    def fileno(self) -> int:
        """Never readable: the supervisor asks often enough."""
        return self._silent

    def interruption(self) -> str:
        """Who wants it."""
        return "stopped by its caller" if self.stopped else ""

    def stop_now(self) -> float | None:
        """Seconds of grace."""
        return GRACE if self.stopped else None

    def wait(self, seconds: float) -> None:
        """Nobody waits here."""

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self._silent)
        os.close(self._unused)


def _asked(judge: Callable[[str], str | None]) -> Judge:
    def opinion(prompt: str, model: str) -> Opinion:
        answer = judge(prompt)
        return Opinion(answer) if answer else Opinion(problem="the judge gave no answer")

    return opinion
