"""`ralph execute` from within, where no user can make it stumble."""

import os
from collections.abc import Sequence

import pytest

from ralph.app import paths as places
from ralph.app.pipeline.execute import execute_tasks
from ralph.app.pipeline.task_run import ExecuteRequest
from ralph.app.session import Callbacks
from ralph.config.schema import AgentSettings, Settings
from ralph.model.events import Event
from support.pipeline import PipelineFixture


def test_a_mistake_of_ours_leaves_no_task_in_progress(pipeline: PipelineFixture) -> None:
    def mistaken(at: float, iteration: int, events: Sequence[Event]) -> None:
        raise RuntimeError("a bug")

    pipeline.task("TASK-001")
    request = ExecuteRequest(settings=Settings(agent=AgentSettings(command="worker")))
    here, variables = places.find_paths(str(pipeline.repo)), {**os.environ, **pipeline.workshop.environment}
    with pytest.raises(RuntimeError, match="a bug"):
        execute_tasks(request, here, variables=variables, wishes=Callbacks(), watchers_of=lambda task: (mistaken,))
    assert pipeline.status("TASK-001")["status"] == "todo"
    assert pipeline.execute().returncode == 0
