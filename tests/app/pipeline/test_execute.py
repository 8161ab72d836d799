"""`ralph execute` from within: what the whole of it comes to, and mistakes no user can make."""

import os
from collections.abc import Sequence

import pytest

from ralph.app.paths import find_paths
from ralph.app.pipeline.context import ExecuteRequest
from ralph.app.pipeline.execute import ExecuteReport, execute_tasks
from ralph.app.pipeline.landed_checks import BrokenLanding
from ralph.app.pipeline.selection import UntouchedTask
from ralph.app.pipeline.task_run import TaskEnding
from ralph.app.session import Callbacks
from ralph.config.schema import AgentSettings, Settings
from ralph.model.events import Event
from ralph.model.loop import Outcome
from support.pipeline import PipelineFixture

DONE, FAILED = (
    TaskEnding(task="A", outcome=Outcome.COMPLETED, why=""),
    TaskEnding(task="B", outcome=Outcome.EXHAUSTED, why=""),
)
BLOCKED, CANCELLED = (
    TaskEnding(task="C", outcome=Outcome.BLOCKED, why=""),
    TaskEnding(task="D", outcome=Outcome.INTERRUPTED, why="cancelled"),
)


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (ExecuteReport(endings=()), 0),
        (ExecuteReport(endings=(DONE,)), 0),
        (ExecuteReport(endings=(DONE, FAILED)), 1),
        (ExecuteReport(endings=(DONE,), broken=(BrokenLanding(task="D", target="main", why="fails"),)), 1),
        (ExecuteReport(endings=(DONE, CANCELLED)), 1),
        (ExecuteReport(endings=(DONE, BLOCKED)), 3),
        (ExecuteReport(endings=(BLOCKED, FAILED)), 1),
        (ExecuteReport(endings=(DONE,), left=(UntouchedTask("E", "waits"),)), 1),
        (ExecuteReport(endings=(), left=(UntouchedTask("E", "is blocked", blocked=True),)), 3),
        (ExecuteReport(endings=(FAILED, TaskEnding(task="F", outcome=Outcome.UNUSABLE, why=""))), 2),
        (ExecuteReport(endings=(DONE, TaskEnding(task="G", outcome=Outcome.INTERRUPTED, why="received SIGINT"))), 130),
        (ExecuteReport(endings=(), left=(UntouchedTask("E", "was not started"),), interrupted=True), 130),
    ],
)
def test_only_when_all_is_done_the_exit_code_is_0(report: ExecuteReport, code: int) -> None:
    assert report.exit_code == code


def test_a_mistake_of_ours_leaves_no_task_in_progress(pipeline: PipelineFixture) -> None:
    def mistaken(at: float, iteration: int, events: Sequence[Event]) -> None:
        raise RuntimeError("a bug")

    pipeline.task("TASK-001")
    request = ExecuteRequest(settings=Settings(agent=AgentSettings(command="worker")))
    paths, variables = find_paths(str(pipeline.repo)), {**os.environ, **pipeline.workshop.environment}
    with pytest.raises(RuntimeError, match="a bug"):
        execute_tasks(request, paths, variables=variables, callbacks=Callbacks(), watchers_of=lambda task: (mistaken,))
    assert pipeline.status("TASK-001")["status"] == "todo"
    assert pipeline.execute().returncode == 0
