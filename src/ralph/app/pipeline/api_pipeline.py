"""`ExecutionPipeline`: SpecFlow's pipeline as an object, over the tasks of one repository."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from ralph.app.agents import choice
from ralph.app.paths import Paths, find_paths
from ralph.app.pipeline import stages
from ralph.app.pipeline.context import ExecuteRequest
from ralph.app.pipeline.execute import ExecuteReport, execute_tasks
from ralph.app.pipeline.task_run import TaskEnding
from ralph.app.session import Callbacks
from ralph.config.schema import Settings
from ralph.config.sources import load_settings
from ralph.model.enumerations import StageLike
from ralph.model.loop import Outcome
from ralph.model.ports import Watcher
from ralph.model.spec import ROLES, Role, find_role


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
        return _to_results(self._run_pipeline(task_ids, ROLES, resume))

    def execute_task(self, task_id: str, resume: bool = False) -> ExecutionResult:
        return _build_single_result(task_id, self._run_pipeline((task_id,), ROLES, resume))

    def execute_stage(self, task_id: str, stage: StageLike) -> ExecutionResult:
        """One stage of a task. Only qa lands. ValueError for a stage nobody knows."""
        return _build_single_result(task_id, self._run_pipeline((task_id,), (find_role(stage),), resume=False))

    def cancel(self) -> None:
        """End what is running, from any thread; it can be resumed."""
        self._cancelled = True

    def _run_pipeline(self, task_ids: tuple[str, ...], roles: tuple[Role, ...], resume: bool) -> ExecuteReport:
        self._cancelled = False
        paths = find_paths(os.fspath(self.project))
        request = ExecuteRequest(
            settings=self._load_settings(paths),
            tasks=task_ids,
            jobs=self.jobs,
            stages=roles,
            resume=resume,
            target=self.target,
        )
        callbacks = Callbacks(is_cancelled=lambda: self._cancelled)
        return execute_tasks(request, paths, variables=self._environment, callbacks=callbacks, watchers_of=self._watch)

    def _load_settings(self, paths: Paths) -> Settings:
        settings = load_settings(paths.folder, self._environment, {}).settings
        if self.agent:
            settings = stages.use_one_agent(choice.override_agent(settings, self.agent, os.environ))
        if self.budget_usd is not None:
            settings = replace(settings, budget_usd=self.budget_usd)
        return choice.ensure_agent(choice.anchor_agents(settings, paths.folder), paths, self._environment)[0]


def _to_results(report: ExecuteReport) -> list[ExecutionResult]:
    left = [ExecutionResult(left.task, False, "left", [left.why]) for left in report.left]
    return [*map(_to_result, report.endings), *left]


def _to_result(ending: TaskEnding) -> ExecutionResult:
    success = ending.outcome is Outcome.COMPLETED
    return ExecutionResult(ending.task, success, ending.outcome.value, [] if success else [ending.why])


def _build_single_result(task_id: str, report: ExecuteReport) -> ExecutionResult:
    """A task that is done already has neither ended nor been left."""
    done = ExecutionResult(task_id, True, Outcome.COMPLETED.value)
    return next(iter(_to_results(report)), done)
