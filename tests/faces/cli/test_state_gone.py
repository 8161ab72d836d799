"""An agent that deletes what ralph knows of the run, as a user of each loop meets it."""

import json
import subprocess
import uuid
from pathlib import Path

import pytest

from support.pipeline import PipelineFixture
from support.processes import find_processes_with
from support.stories import SUBMIT_FIELDS, StoryFixture, make_story
from support.workshop import ProjectFixture, make_result_command

WORKING = make_result_command("still at it")
DONE = make_result_command("<response>DONE</response>")


def sentence(folder: Path) -> str:
    return (
        f"{folder} was deleted during the run, with all records of runs and tasks."
        " The work tree is as the agent left it; start a new run"
    )


def told_once(done: "subprocess.CompletedProcess[str]", folder: Path) -> None:
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.count(sentence(folder)) == 1, done.stdout
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert "--resume" not in done.stdout + done.stderr
    assert not folder.exists()


@pytest.mark.parametrize("answer", [WORKING, DONE])
@pytest.mark.parametrize("gates", [[], [{"command": "touch checked", "failAction": "APPEND"}]])
def test_a_run_ends_before_anything_else_is_started(
    workshop: ProjectFixture, answer: str, gates: list[dict[str, str]]
) -> None:
    token = uuid.uuid4().hex
    state = workshop.repo / ".git" / "ralph"
    workshop.agent(f"echo work > work.txt; rm -rf {state}; setsid sh -c 'sleep 60; :' {token} & {answer}")
    workshop.settings(guardrails=gates)
    done = workshop.ralph("run", "-p", "x")
    told_once(done, state)
    assert "Failed: " in done.stdout
    assert workshop.calls == 1
    assert not (workshop.repo / "checked").exists()
    assert (workshop.repo / "work.txt").exists()
    assert not find_processes_with(token)
    workshop.agent(DONE)
    assert workshop.ralph("run", "-p", "x").returncode == 0


def test_its_end_is_an_event_too(workshop: ProjectFixture) -> None:
    state = workshop.repo / ".git" / "ralph"
    workshop.agent(f"rm -rf {state}; {WORKING}")
    done = workshop.ralph("run", "-p", "x", "--json")
    last = json.loads(done.stdout.splitlines()[-1])["event"]
    assert (last["type"], last["outcome"], last["exit_code"]) == ("run_ended", "failed", 1)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_state_that_was_made_anew_is_not_the_runs_own(workshop: ProjectFixture) -> None:
    state = workshop.repo / ".git" / "ralph"
    workshop.agent(f"rm -rf {state}; mkdir {state}; touch {state}/ralph.db; {WORKING}")
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 1
    assert sentence(state) in done.stdout
    assert workshop.calls == 1
    assert (state / "ralph.db").read_bytes() == b""


def test_a_log_beside_the_database_that_vanishes_is_noticed_too(workshop: ProjectFixture) -> None:
    state = workshop.repo / ".git" / "ralph"
    workshop.agent(f"rm {state}/ralph.db-wal; {WORKING}")
    done = workshop.ralph("run", "-p", "x", "-m", "4")
    assert (done.returncode, workshop.calls) == (1, 1)
    assert "ralph.db-wal was deleted during the run, with the newest records" in done.stdout
    assert "start a new run" not in done.stdout  # this one can be resumed
    assert "internal error" not in done.stderr


def test_a_resumed_run_ends_the_same_way(workshop: ProjectFixture) -> None:
    state = workshop.repo / ".git" / "ralph"
    workshop.agent(WORKING, f"rm -rf {state}; sleep 1.2; {WORKING}")  # time to be asked for wishes
    assert workshop.ralph("run", "-p", "x", "-m", "1").returncode == 1
    told_once(workshop.ralph("run", "--resume", "-m", "5"), state)
    assert workshop.calls == 2


def test_outside_git_too(workshop: ProjectFixture, tmp_path: Path) -> None:
    workshop.repo = tmp_path / "plain"
    workshop.repo.mkdir()
    state = workshop.repo / ".ralph" / "state"
    workshop.agent(f"rm -rf {state}; head -c 20000000 /dev/zero | tr '\\0' '\\n'; {WORKING}")
    told_once(workshop.ralph("run", "-p", "x"), state)


def test_a_supervised_task(workshop: ProjectFixture) -> None:
    task = workshop.repo / "proj" / "task"
    task.mkdir(parents=True)
    (task / "TASK.md").write_text("Do it.\n")
    state = workshop.repo / ".git" / "ralph"
    script = f"echo x >> $TASK_FOLDER/n; rm -rf {state}"
    told_once(workshop.ralph("supervise", str(task), "--", "sh", "-c", script), state)
    assert (task / "n").read_text() == "x\n"
    (info,) = task.glob("runs/*/run-info.yaml")
    assert 'status: "completed"' in info.read_text()


def test_a_story_loop(workshop: ProjectFixture) -> None:
    stories = StoryFixture(workshop)
    stories.plan(make_story("US-001"))
    state = workshop.repo / ".git" / "ralph"
    stories.script(("US-001", SUBMIT_FIELDS, "US-001: do it"))
    script = workshop.home / "script.json"
    runs = json.loads(script.read_text())
    script.write_text(json.dumps([[{"bash": f"rm -rf {state}; echo x >> {workshop.home}/n"}, *runs[0]]]))
    told_once(workshop.ralph("story", "run"), state)
    assert (workshop.home / "n").read_text() == "x\n"
    assert not (workshop.repo / ".ralph-active").exists()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_tasks_one_after_the_other_or_at_once(pipeline: PipelineFixture, jobs: str) -> None:
    state = pipeline.repo / ".git" / "ralph"
    pipeline.honest()
    for number in (1, 2, 3):
        pipeline.task(f"TASK-00{number}")
    all_there = f"until [ $(wc -l < {pipeline.home}/n) -ge {jobs} ]; do sleep 0.05; done"
    pipeline.agent(before=f"echo $RALPH_TASK >> {pipeline.home}/n; {all_there}; rm -rf {state}")
    done = pipeline.execute("-j", jobs)
    assert done.returncode == 1, done.stdout + done.stderr
    assert sentence(state) in done.stdout
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert not state.exists()
    assert len((pipeline.home / "n").read_text().splitlines()) == int(jobs)
