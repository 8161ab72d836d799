"""An agent that passes the budget while it works is stopped there, in every loop; what it did stays."""

import uuid

import pytest

from support.pipeline import PipelineFixture
from support.processes import find_processes_with
from support.stories import StoryFixture, make_story
from support.workshop import ProjectFixture

STEP = '{"type":"step_finish","part":{"reason":"tool-calls","cost":0.25,"tokens":{"input":1,"output":1}}}'
STOPPED = "it had spent what was left of the budget"


@pytest.mark.parametrize("loop", ["story", "supervise"])
def test_who_passes_the_budget_is_stopped_in_the_middle(workshop: ProjectFixture, loop: str) -> None:
    token = f"61.{uuid.uuid4().int % 10**9}"
    workshop.agent(f"echo x > begun; for i in 1 2 3 4 5 6; do echo '{STEP}'; done; sleep {token}", name="opencode")
    words: tuple[str, ...] = ("story", "run")
    if loop == "story":
        StoryFixture(workshop).plan(make_story("US-1"))
    else:
        task = workshop.repo / "tasks/app/job"
        task.mkdir(parents=True)
        (task / "TASK.md").write_text("Do it.\n")
        words = ("supervise", str(task))
    done = workshop.ralph(*words, "--agent", "opencode", "--budget", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert (workshop.calls, STOPPED in done.stdout) == (1, True), done.stdout
    assert "budget spent" in done.stdout
    assert (workshop.repo / "begun").exists()
    assert not find_processes_with(token)


def test_a_task_is_stopped_in_the_middle_too(pipeline: PipelineFixture) -> None:
    token = f"61.{uuid.uuid4().int % 10**9}"
    pipeline.workshop.agent(
        f"echo x > begun; for i in 1 2 3 4 5 6; do echo '{STEP}'; done; sleep {token}", name="opencode"
    )
    pipeline.task("TASK-001")
    done = pipeline.execute("--agent", "opencode", "--budget", "1")
    assert done.returncode == 1
    assert STOPPED in done.stdout
    assert "but for what is kept for reviews" in done.stdout
    assert (pipeline.repo / ".ralph/worktrees/TASK-001/begun").exists()
    assert pipeline.workshop.calls == 1
    assert not find_processes_with(token)
