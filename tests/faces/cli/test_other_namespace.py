"""A run seen from another PID namespace, as from a dev container: it lives, and it can be cancelled."""

import json
import os
import subprocess
import sys

import pytest

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
