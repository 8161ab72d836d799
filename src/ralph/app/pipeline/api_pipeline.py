"""`ExecutionPipeline`: SpecFlow's pipeline as an object, over the tasks of one repository."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from ralph.app import paths as places
from ralph.app.pipeline import stages
from ralph.app.pipeline.execute import Report, execute
from ralph.app.pipeline.task_run import Ending, ExecuteRequest
from ralph.app.run import loop as run
from ralph.app.session import Wishes
from ralph.config.schema import Settings
from ralph.config.sources import load
from ralph.model.loop import Outcome
from ralph.model.ports import Watcher
from ralph.model.spec import ROLES, Role


@dataclass
class ExecutionResult:
    """What became of one task."""

    task_id: str
    success: bool  # verified, and where all stages were asked for, landed
    outcome: str = ""
    issues: list[str] = field(default_factory=list)


class ExecutionPipeline:
    """Takes tasks through coder, reviewer, tester and qa, each a Ralph loop in a work tree of its own, and merges what
    is proven. Settings are those of the project; `agent` is for all stages."""

    def __init__(
        self,
        project: str | os.PathLike[str] = ".",
        *,
        agent: str | None = None,
        jobs: int = 1,
        target: str = "",
        budget_usd: float | None = None,
        environment: Mapping[str, str] | None = None,
        watch: Callable[[str], Sequence[Watcher]] = lambda task: (),
    ) -> None:
        self.project = project
        self.agent, self.jobs, self.target, self.budget_usd = agent, jobs, target, budget_usd
        self._environment = os.environ if environment is None else environment
        self._watch = watch
        self._cancelled = False

    def execute(self, *task_ids: str, resume: bool = False) -> list[ExecutionResult]:
        """These tasks, or all that are open, as far as they go; with `resume`, those too that were cut off."""
        return _results(self._executed(task_ids, ROLES, resume))

    def execute_task(self, task_id: str, resume: bool = False) -> ExecutionResult:
        """All stages of one task."""
        return _only(task_id, self._executed((task_id,), ROLES, resume))

    def execute_stage(self, task_id: str, stage: Role) -> ExecutionResult:
        """One stage of a task. Only qa lands."""
        return _only(task_id, self._executed((task_id,), (stage,), resume=False))

    def cancel(self) -> None:
        """End what is running, from any thread; it can be resumed."""
        self._cancelled = True

    def _executed(self, task_ids: tuple[str, ...], roles: tuple[Role, ...], resume: bool) -> Report:
        self._cancelled = False
        here = places.find(os.fspath(self.project))
        request = ExecuteRequest(self._settings(here), task_ids, self.jobs, roles, resume, self.target)
        wishes = Wishes(cancelled=lambda: self._cancelled)
        return execute(request, here, self._environment, wishes, self._watch)

    def _settings(self, here: places.Places) -> Settings:
        settings = load(here.folder, self._environment, {}).settings
        if self.agent:
            settings = stages.with_one_agent(run.with_chosen(settings, self.agent))
        if self.budget_usd is not None:
            settings = replace(settings, budget_usd=self.budget_usd)
        return run.with_agent(settings, here, self._environment)[0]


def _results(report: Report) -> list[ExecutionResult]:
    left = [ExecutionResult(left.task, False, "left", [left.why]) for left in report.left]
    return [*map(_result, report.endings), *left]


def _result(ending: Ending) -> ExecutionResult:
    success = ending.outcome is Outcome.COMPLETED
    return ExecutionResult(ending.task, success, ending.outcome.value, [] if success else [ending.why])


def _only(task_id: str, report: Report) -> ExecutionResult:
    """A task that is done already has neither ended nor been left."""
    done = ExecutionResult(task_id, True, Outcome.COMPLETED.value)
    return next(iter(_results(report)), done)
