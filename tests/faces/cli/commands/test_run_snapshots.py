"""Whatever an agent does to the work tree, from outside: what was there before and after it can be had again."""

import json
import shlex
import signal
import time
from pathlib import Path

import pytest

from support.pipeline import PipelineFixture
from support.processes import wait_until
from support.stories import StoryFixture, make_story
from support.workshop import ProjectFixture, make_result_command

WORD = "printf '%s\\n' " + shlex.quote(
    json.dumps({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "Bash"}]}})
)
WIPE = f"git reset -q --hard; git clean -qfdx; {WORD}; {make_result_command('wiped')}"


@pytest.fixture
def workshop(tmp_path: Path) -> ProjectFixture:
    made = ProjectFixture(tmp_path)
    (made.repo / "kept").write_text("committed\n")
    made.git("add", "-A")
    made.git("commit", "-qm", "Start")
    (made.repo / "kept").write_text("not committed\n")
    (made.repo / "new").write_text("never added\n")
    return made


def run_own_git(workshop: ProjectFixture, *words: str) -> str:
    """Git with the directory that is ralph's own."""
    (folder,) = (workshop.home / ".local/state/ralph/trees").iterdir()
    return workshop.git(f"--git-dir={folder}", "--work-tree=.", *words)


def refs(workshop: ProjectFixture) -> list[str]:
    return run_own_git(workshop, "for-each-ref", "--format=%(refname)", "refs/ralph").split()


def subjects(workshop: ProjectFixture, ref: str) -> list[str]:
    told = run_own_git(workshop, "log", "--first-parent", "--format=%s", ref).splitlines()
    return [line.partition(": ")[2] for line in told if line.startswith("ralph ")]


def test_an_agent_that_wipes_the_tree_loses_nothing(workshop: ProjectFixture) -> None:
    workshop.agent(WIPE, f"echo more > made; {WORD}; {make_result_command('<response>DONE</response>')}")
    assert workshop.ralph("run", "-p", "x").returncode == 0
    (ref,) = refs(workshop)
    assert ref == f"refs/ralph/{workshop.status()['id']}"
    assert subjects(workshop, ref) == ["after iteration 2", "after iteration 1", "before the first agent"]
    run_own_git(workshop, "restore", f"--source={ref}~2", "--", ".")
    assert (workshop.repo / "kept").read_text() == "not committed\n"
    assert (workshop.repo / "new").read_text() == "never added\n"
    assert run_own_git(workshop, "show", f"{ref}:made") == "more\n"


def test_an_agent_that_only_talks_needs_no_other_snapshot(workshop: ProjectFixture) -> None:
    workshop.agent(make_result_command("hm"))
    workshop.ralph("run", "-p", "x", "-m", "3")
    (ref,) = refs(workshop)
    assert subjects(workshop, ref) == ["before the first agent"]


def test_they_can_be_switched_off(workshop: ProjectFixture) -> None:
    workshop.settings(snapshots=False)
    workshop.agent(WIPE)
    workshop.ralph("run", "-p", "x", "-m", "1")
    assert refs(workshop) == []


def test_what_is_not_kept_is_told_and_the_run_goes_on(workshop: ProjectFixture) -> None:
    inner = workshop.repo / "inner"
    inner.mkdir()
    workshop.git("-C", str(inner), "init", "-q")
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0
    assert "not kept of the work tree: inner/ (a repository of its own)" in done.stdout


def test_two_signals_while_git_looks_start_no_agent(workshop: ProjectFixture) -> None:
    slow = workshop.home / "git"
    slow.write_text(f"#!/bin/sh\ntouch {workshop.home}/looks; sleep 60")
    slow.chmod(0o755)
    with workshop.start("run", "-p", "x") as run:
        assert wait_until((workshop.home / "looks").exists)
        for _ in range(2):
            run.send_signal(signal.SIGINT)
            time.sleep(0.3)
        out, _ = run.communicate(timeout=20)
    assert (run.returncode, workshop.calls) == (130, 0)
    assert "not kept" not in out


def test_outside_git_a_folder_is_kept_too(tmp_path: Path) -> None:
    workshop = ProjectFixture(tmp_path)
    (workshop.repo / ".git").rename(workshop.home / "no.git")
    (workshop.repo / "notes").write_text("mine\n")
    workshop.agent(f"rm notes; {WORD}; {make_result_command('<response>DONE</response>')}")
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0
    assert "not kept" not in done.stdout
    (ref,) = refs(workshop)
    assert run_own_git(workshop, "show", f"{ref}~1:notes") == "mine\n"


def test_an_agent_is_not_told_where_trees_are_kept(workshop: ProjectFixture) -> None:
    workshop.ralph("run", "-p", "x", "-m", "1")
    (folder,) = (workshop.home / ".local/state/ralph/trees").iterdir()
    heard = [path.read_text() for path in workshop.home.glob("*.1") if path.is_file()]
    assert heard
    assert not [text for text in heard if folder.name in text or "ralph/trees" in text]


def test_a_supervised_agents_work_is_kept(workshop: ProjectFixture) -> None:
    task = workshop.repo / "root/proj/task-1"
    task.mkdir(parents=True)
    (task / "TASK.md").write_text("Do it.\n")
    script = "git clean -qfdx -e root; git checkout -q .; touch $TASK_FOLDER/DONE"
    assert workshop.ralph("supervise", str(task), "--", "sh", "-c", script).returncode == 0
    (ref,) = refs(workshop)
    assert subjects(workshop, ref) == ["after iteration 1", "before the first agent"]
    assert run_own_git(workshop, "show", f"{ref}~1:new") == "never added\n"


def test_every_stage_of_a_task_is_kept_under_its_run(tmp_path: Path) -> None:
    pipeline = PipelineFixture(ProjectFixture(tmp_path))
    pipeline.honest()
    pipeline.task("TASK-001")
    pipeline.agent(hook="echo draft > draft")
    assert pipeline.execute("TASK-001").returncode == 0
    (ref,) = refs(pipeline.workshop)
    assert subjects(pipeline.workshop, ref)[-2:] == ["after iteration 1", "before the first agent"]
    assert "draft" in run_own_git(pipeline.workshop, "ls-tree", "--name-only", ref)


def test_a_story_loops_work_is_kept(tmp_path: Path) -> None:
    stories = StoryFixture(ProjectFixture(tmp_path))
    stories.plan(make_story("US-001"))
    stories.play([{"bash": "echo draft > draft"}, {"say": "Ended."}], [{"bash": "git clean -qfdx"}, {"say": "Ended."}])
    stories.workshop.ralph("story", "run", "--max-iterations", "2")
    (ref,) = refs(stories.workshop)
    assert subjects(stories.workshop, ref) == ["after iteration 2", "after iteration 1", "before the first agent"]
    assert run_own_git(stories.workshop, "show", f"{ref}~1:draft") == "draft\n"
