"""A run seen from another PID namespace, as from a dev container: it lives, and it can be cancelled."""

import json
import os
import subprocess
import sys
import uuid

import pytest

from support.pipeline import PipelineFixture
from support.processes import find_processes_with
from support.workshop import ProjectFixture

UNSHARE = ("unshare", "--pid", "--fork", "--mount-proc")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode != 0,
    reason="no PID namespace can be made here",
)


def look_from_elsewhere(project: ProjectFixture, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [*UNSHARE, sys.executable, "-m", "ralph", *words]
    return subprocess.run(
        argv, cwd=project.repo, env=project.environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_run_that_cannot_be_seen_is_not_lost_and_can_be_cancelled(workshop: ProjectFixture) -> None:
    ready = workshop.home / "ready"
    os.mkfifo(ready)
    workshop.agent(f"echo > {ready}; exec sleep 60")
    with workshop.start("run", "-p", "work") as run:
        ready.read_text()
        (seen,) = json.loads(look_from_elsewhere(workshop, "status", "--json").stdout)["runs"]
        assert (seen["active"], seen["liveness"], seen["outcome"]) == (True, "alive", None)
        cancelled = look_from_elsewhere(workshop, "cancel")
        assert cancelled.returncode == 0, cancelled.stderr
        assert run.wait(10) == 130
    (ended,) = json.loads(workshop.ralph("status", "--json").stdout)["runs"]
    assert ended["outcome"] == "interrupted"


def test_a_task_is_cancelled_from_there_and_its_agent_ends(pipeline: PipelineFixture) -> None:
    ready, token = pipeline.home / "ready", f"61.{uuid.uuid4().int % 10**9}"
    os.mkfifo(ready)
    pipeline.workshop.agent(f"echo > {ready}; exec sleep {token}")
    pipeline.task("TASK-001")
    with pipeline.workshop.start("execute", "--agent", "claude") as run:
        ready.read_text()
        cancelled = look_from_elsewhere(pipeline.workshop, "task", "cancel", "TASK-001")
        assert cancelled.returncode == 0, cancelled.stderr
        out, _ = run.communicate(timeout=20)
    assert "TASK-001  interrupted" in out or "TASK-001  cancelled" in out, out
    assert pipeline.shown("TASK-001")["task"]["status"] == "cancelled"
    assert not find_processes_with(token)
