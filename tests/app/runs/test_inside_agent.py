"""An agent of a living run may not change what it is judged by."""

import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from ralph.app.paths import find_paths
from ralph.app.runs.inside_agent import find_enclosing_run
from ralph.app.session import identify_owner
from ralph.app.stores import open_stores
from ralph.model.runs import NewRun
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


def test_whoever_has_the_variables_of_a_living_run_is_inside_it(state: str) -> None:
    assert find_enclosing_run({"RALPH_RUN_ID": "r1", "RALPH_STATE": state}) == "r1"
    assert find_enclosing_run({"RALPH_RUN_ID": "r1"}) == "r1", "its state is that of this folder"


def test_variables_that_outlived_their_run_mean_nothing(state: str, tmp_path: Path) -> None:
    assert find_enclosing_run({}) == ""
    assert find_enclosing_run({"RALPH_RUN_ID": "r2", "RALPH_STATE": state}) == ""
    assert find_enclosing_run({"RALPH_RUN_ID": "r1", "RALPH_STATE": str(tmp_path / "gone")}) == ""
    with open_stores(find_paths(str(tmp_path))) as stores:
        stores.runs.end("r1", time.time(), "completed", "done")
    assert find_enclosing_run({"RALPH_RUN_ID": "r1", "RALPH_STATE": state}) == ""


def test_a_state_that_cannot_be_read_may_be_that_of_a_living_run(state: str) -> None:
    Path(state, "ralph.db").write_text("no database" * 100)
    assert find_enclosing_run({"RALPH_RUN_ID": "r1", "RALPH_STATE": state}) == "r1"


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
