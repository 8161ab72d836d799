"""What landed stays true: the checks of tasks that this run has landed, on every tree that lands after them."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.pipeline.base_checks import BasePlace, BaseVerdicts, TaskBaseChecks, borrow_contained
from ralph.app.pipeline.task_processes import TaskProcesses
from ralph.app.pipeline.verification import build_tools, identify_check, list_criteria_commands, verify_claim
from ralph.model.ports import Processes, TreeKeeper
from ralph.model.spec import CompletionCriteria, Role
from ralph.model.verdict import Claim, Verdict, VerifierTools
from ralph.workspaces.exported_tree import open_exported_tree
from ralph.workspaces.git import Git


class LandedCheck(Struct, frozen=True, kw_only=True):
    """A check that a task has landed with."""

    task: str
    role: Role
    target: str
    criteria: CompletionCriteria

    @property
    def key(self) -> str:
        """Two with the same one need not both run."""
        return f"{self.target} {identify_check(self.criteria)}"

    def describe(self) -> str:
        command = "; ".join(list_criteria_commands(self.criteria))
        return f"`{command}`" if command else self.criteria.verification_method.value


class BrokenLanding(Struct, frozen=True, kw_only=True):
    """A task that landed, and whose check fails now."""

    task: str
    target: str
    why: str


class LandedChecks:
    """Of all tasks of one `ralph execute`; safe between its threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._checks: dict[str, LandedCheck] = {}
        self._green: dict[str, str] = {}  # by key: the commit it passed on last

    def list_checks(self, target: str) -> list[LandedCheck]:
        with self._lock:
            return [check for check in self._checks.values() if check.target == target]

    def list_targets(self) -> list[str]:
        with self._lock:
            return [*dict.fromkeys(check.target for check in self._checks.values())]

    def add(self, checks: Sequence[LandedCheck], passed: Sequence[str], commit: str) -> None:
        """A task landed as this commit; these passed on it."""
        with self._lock:
            self._checks = {**{check.key: check for check in checks}, **self._checks}
            self._green |= dict.fromkeys(passed, commit)

    def has_passed_on(self, check: LandedCheck, commit: str) -> bool:
        with self._lock:
            return self._green.get(check.key) == commit


class TaskNeighbours:
    """Implements the port `LandedNeighbours` for one task that is about to land. `checks`: its own."""

    def __init__(
        self,
        landed: LandedChecks,
        checks: Sequence[LandedCheck],
        *,
        target: str,
        place: BasePlace,
        processes: TaskProcesses,
        verdicts: BaseVerdicts,
        keeper: TreeKeeper,
        warn: Callable[[str], object],
    ) -> None:
        """`place`: with what checks are run, and the project's git."""
        self._landed, self._checks, self._target = landed, checks, target
        self._place, self._verdicts, self._keeper = place, verdicts, keeper
        self._processes = processes
        self._warn = warn
        self._passed: list[str] = []  # on the merged tree that was looked at last

    def find_broken(self, folder: str, checked: CompletionCriteria | None) -> str:
        self._passed = [each.key for each in self._checks if checked and each.criteria == checked]
        tools = build_tools(lambda: borrow_contained(self._processes, self._place.contain, folder))
        for check in self._landed.list_checks(self._target):
            if check.key in self._passed:
                continue
            verdict = run_check(check.criteria, folder, self._place.environment, tools)
            if verdict.verified:
                self._passed.append(check.key)
            elif verdict.interrupted or not self._was_red_before(check):
                return f"{describe_failure(check, verdict)}\n{verdict.detail}".strip()
        return ""

    def record_landing(self, commit: str, passed: Sequence[CompletionCriteria]) -> None:
        before = [each.key for each in self._checks if each.criteria in passed]
        self._landed.add(self._checks, [*self._passed, *before], commit)

    def _was_red_before(self, check: LandedCheck) -> bool:
        """Somebody else's doing: this task need not repair it, and it is told."""
        git = self._place.git.through(self._processes.make_uninterruptible())
        place = replace(self._place, commit=git.find_commit(f"refs/heads/{self._target}"))
        before = TaskBaseChecks(place, self._verdicts, self._keeper).check(check.criteria)
        is_red = before is not None and not before.verified and not before.interrupted
        if is_red and before is not None:
            self._warn(describe_failure(check, before))
        return is_red


class EndingTools(Struct, frozen=True, kw_only=True):
    """With what checks are run when all tasks have ended."""

    git: Git
    processes: TaskProcesses
    environment: Mapping[str, str]
    contain: Callable[[Processes], Processes]


def find_broken_landings(landed: LandedChecks, ending: EndingTools) -> tuple[BrokenLanding, ...]:
    """Every check of every landed task once more, on what its target is now; what has passed there is not repeated."""
    return tuple(broken for target in landed.list_targets() for broken in _check_target(landed, target, ending))


def _check_target(landed: LandedChecks, target: str, ending: EndingTools) -> Iterator[BrokenLanding]:
    git = ending.git.through(ending.processes.make_uninterruptible())
    commit = git.find_commit(f"refs/heads/{target}")
    left = [check for check in landed.list_checks(target) if not landed.has_passed_on(check, commit)]
    if not commit or not left:
        return
    with open_exported_tree(git, commit) as folder:
        tools = build_tools(lambda: borrow_contained(ending.processes, ending.contain, folder))
        for check in left:
            verdict = run_check(check.criteria, folder, ending.environment, tools)
            if verdict.interrupted:
                return
            if not verdict.verified:
                yield BrokenLanding(task=check.task, target=target, why=describe_failure(check, verdict))


def run_check(
    criteria: CompletionCriteria, folder: str, environment: Mapping[str, str], tools: VerifierTools
) -> Verdict:
    """As if its agent had promised just now."""
    promise = criteria.promise
    claim = Claim(
        promise=promise, output=f"<promise>{promise}</promise>", folder=folder, environment=environment, is_merged=True
    )
    return verify_claim(claim, criteria, tools)


def describe_failure(check: LandedCheck, verdict: Verdict) -> str:
    return (
        f"{check.describe()} of {check.task}, which has landed on {check.target} in this run, fails: {verdict.reason}"
    )
