"""An agent of a living run may not change what it is judged by."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ralph.app.paths import find_paths
from ralph.app.run_identity import identify_owner
from ralph.app.runs.inside_agent import EnclosingRun, find_enclosing, find_enclosing_run
from ralph.app.runs.living_runs import announce_run
from ralph.app.stores import open_stores
from ralph.model.runs import NewRun
from support.pipeline import PipelineFixture
from support.workshop import ProjectFixture, make_result_command

RALPH = f"{shlex.quote(sys.executable)} -m ralph"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a run that this very process runs."""
    monkeypatch.chdir(tmp_path)
    paths = find_paths(str(tmp_path))
    with open_stores(paths) as stores:
        stores.runs.begin(
            NewRun(
                id="r1",
                kind="run",
                folder=str(tmp_path),
                agent="claude",
                request=b"{}",
                owner=identify_owner(os.getpid()),
                started_at=time.time(),
            )
        )
    return paths.state


def test_whoever_has_the_id_of_a_living_run_is_inside_it(state: str) -> None:
    assert find_enclosing_run({"RALPH_RUN_ID": "r1"}) == "r1"


def test_an_id_that_outlived_its_run_means_nothing(state: str, tmp_path: Path) -> None:
    assert find_enclosing_run({}) == ""
    assert find_enclosing_run({"RALPH_RUN_ID": "r2"}) == ""
    with open_stores(find_paths(str(tmp_path))) as stores:
        stores.runs.end("r1", time.time(), "completed", "done")
    assert find_enclosing_run({"RALPH_RUN_ID": "r1"}) == ""


def test_a_state_that_cannot_be_read_may_be_that_of_a_living_run(state: str) -> None:
    Path(state, "ralph.db").write_text("no database" * 100)
    assert find_enclosing_run({"RALPH_RUN_ID": "r1"}) == "r1"


def test_a_run_of_another_repository_is_found_by_its_announcement(state: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    variables = {"XDG_STATE_HOME": str(tmp_path / "machine")}
    with announce_run("r9", identify_owner(0), find_paths(str(elsewhere)), variables, task="T1"):
        assert find_enclosing({"RALPH_RUN_ID": "r9", **variables}) == EnclosingRun("r9", "T1")
    assert find_enclosing({"RALPH_RUN_ID": "r9", **variables}) is None


def test_a_child_is_inside_even_when_it_hides_its_variables(state: str, tmp_path: Path) -> None:
    code = "import os; from ralph.app.runs.inside_agent import find_enclosing_run; print(find_enclosing_run({}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, env={}
    )
    assert done.stdout == "r1\n"


def test_an_agent_cannot_change_settings_of_its_run_and_is_told_why(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=["true"])
    before = (workshop.repo / ".ralph/settings.json").read_text()
    attempts = ("config set guardrails '[]'", "config unset guardrails --local", "init --yes --force")
    tries = " ; ".join(
        f"{RALPH} {words} > said.{number} 2>&1; echo $? >> codes" for number, words in enumerate(attempts)
    )
    workshop.agent(f"{tries}; {RALPH} config get guardrails > seen; {make_result_command('<response>DONE</response>')}")
    assert workshop.ralph("run", "-p", "x").returncode == 0
    assert (workshop.repo / ".ralph/settings.json").read_text() == before
    assert (workshop.repo / "codes").read_text().split() == ["2", "2", "2"]
    assert "inside run" in (workshop.repo / "said.0").read_text()
    assert "true" in (workshop.repo / "seen").read_text(), "looking is allowed"


def test_an_agent_may_create_tasks_and_change_none(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    pipeline.task("TASK-001")
    pipeline.task("TASK-003")
    attempts = (
        "task edit TASK-003 --coder-verify-cmd true --coder-verify external",
        "task edit TASK-003 --status cancelled",
        "task delete TASK-003 --force",
        "task cancel TASK-001",
        "spec edit files --title x",
        "task create TASK-004 files Later --outcome x --acceptance x",
    )
    said = pipeline.home / "codes"
    tries = " ; ".join(f"env -u RALPH_RUN_ID {RALPH} {words} > /dev/null 2>&1; echo $? >> {said}" for words in attempts)
    pipeline.agent(hook=f"[ $RALPH_TASK != TASK-001 ] || {{ {tries}; }}")
    assert pipeline.workshop.ralph("execute", "TASK-001").returncode == 0
    assert said.read_text().split() == ["2", "2", "2", "2", "2", "0"]
    assert pipeline.workshop.ralph("task", "edit", "TASK-003", "--title", "Mine").returncode == 0, (
        "outside it is allowed"
    )
