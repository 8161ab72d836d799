"""Commands that are typed in a subfolder: the settings above hold, as git finds its repository."""

import json
from pathlib import Path

import pytest

from support.pipeline import PipelineFixture
from support.stories import StoryFixture, make_story
from support.workshop import ProjectFixture, make_result_command

WHERE = 'pwd > "$HOME/where"'


@pytest.fixture
def below(workshop: ProjectFixture) -> Path:
    """The user is in a/b of a repository whose settings are at its root."""
    workshop.agent(f"{WHERE}; {make_result_command('<response>DONE</response>')}")
    workshop.settings(guardrails=["test -f at-root"], scm=None)
    (workshop.repo / "at-root").touch()
    folder = workshop.repo / "a/b"
    folder.mkdir(parents=True)
    workshop.repo = folder
    return folder


def where(workshop: ProjectFixture) -> str:
    return (workshop.home / "where").read_text().strip()


def test_a_run_works_in_the_folder_of_the_settings_and_says_so_first(workshop: ProjectFixture, below: Path) -> None:
    root = below.parents[1]
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"settings: ../../.ralph/settings.json; working in {root}" in done.stdout.splitlines()[0]
    assert where(workshop) == str(root)
    assert [*(root / ".ralph").glob("guardrail_001_*.log")]
    assert not (below / ".ralph").exists()
    workshop.repo = root
    assert "settings:" not in workshop.ralph("run", "-p", "x").stdout
    assert workshop.status()["folder"] == str(root)


def test_what_is_typed_means_where_it_is_typed(workshop: ProjectFixture, below: Path) -> None:
    (below / "prompt.md").write_text("from below")
    agent = below / "my agent"
    agent.write_text(f"#!/bin/sh\n{WHERE}; touch a/b/finished; cat > a/b/told; echo ok\n")
    agent.chmod(0o755)
    words = ("run", "-f", "prompt.md", "--agent", "./my agent", "--until", "file:finished", "-m", "1")
    done = workshop.ralph(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "from below" in (below / "told").read_text()
    assert where(workshop) == str(below.parents[1])


def test_a_run_is_resumed_from_anywhere(workshop: ProjectFixture, below: Path) -> None:
    (below / "prompt.md").write_text("from below")
    workshop.agent(make_result_command("not yet"), make_result_command("<response>DONE</response>"))
    assert workshop.ralph("run", "-f", "prompt.md", "-m", "1").returncode == 1
    workshop.repo = below.parents[1]
    assert workshop.ralph("run", "--resume", "-m", "2").returncode == 0
    assert "from below" in workshop.prompt(2)


def test_a_prompt_file_typed_at_the_root_is_found_when_the_run_is_resumed_below(
    workshop: ProjectFixture, below: Path
) -> None:
    workshop.repo = below.parents[1]
    (workshop.repo / "prompt.md").write_text("from the root")
    workshop.agent(make_result_command("not yet"), make_result_command("<response>DONE</response>"))
    assert workshop.ralph("run", "-f", "prompt.md", "-m", "1").returncode == 1
    workshop.repo = below
    assert workshop.ralph("run", "--resume", "-m", "2").returncode == 0
    assert "from the root" in workshop.prompt(2)


def test_a_dry_run_names_the_settings_and_the_folder(workshop: ProjectFixture, below: Path) -> None:
    done = workshop.ralph("run", "-p", "x", "--dry-run")
    assert f"Folder:      {below.parents[1]}\n" in done.stdout
    assert "settings: ../../.ralph/settings.json" in done.stderr
    assert "warning" not in done.stderr


def test_complaints_name_the_file_as_seen_from_here(workshop: ProjectFixture, below: Path) -> None:
    (below.parents[1] / ".ralph/settings.json").write_text('{"maximumIterations": 0}')
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 2
    assert "../../.ralph/settings.json:1: maximumIterations" in done.stderr


def test_one_lock_for_the_work_tree_wherever_runs_are_started(workshop: ProjectFixture, below: Path) -> None:
    workshop.agent("touch started; sleep 30")
    with workshop.start("run", "-p", "x") as run:
        while not (below.parents[1] / "started").exists():
            assert run.poll() is None
        workshop.repo = below.parent
        second = workshop.ralph("run", "-p", "x")
        assert (second.returncode, "is busy" in second.stderr) == (2, True)
        assert workshop.ralph("cancel").returncode == 0
        run.communicate(timeout=20)


def test_outside_git_a_run_is_remembered_with_the_settings(workshop: ProjectFixture, tmp_path: Path) -> None:
    project = tmp_path / "plain"
    (project / ".ralph").mkdir(parents=True)
    (project / ".ralph/settings.json").write_text('{"agent": "claude"}')
    (project / "a").mkdir()
    workshop.repo = project / "a"
    assert workshop.ralph("run", "-p", "x").returncode == 0
    assert (project / ".ralph/state/ralph.db").exists()
    assert workshop.status()["folder"] == str(project)
    assert workshop.ralph("show").returncode == 0
    assert workshop.ralph("logs").returncode == 0


def test_doctor_and_config_look_at_the_settings_above(workshop: ProjectFixture, below: Path) -> None:
    said = workshop.ralph("doctor").stdout
    assert "OK    settings ../../.ralph/settings.json\n" in said
    assert "OK    guardrail test -f at-root\n" in said
    assert ">> ../../.gitignore\n" in said
    origins = json.loads(workshop.ralph("config", "show", "--origin", "--json").stdout)["origins"]
    assert origins["agent.command"] == "../../.ralph/settings.json"


def test_supervise_works_in_the_folder_of_the_settings_on_the_task_that_was_typed(
    workshop: ProjectFixture, below: Path
) -> None:
    (below / "task").mkdir()
    (below / "task/TASK.md").write_text("do it")
    workshop.agent(f'{WHERE}; touch "$TASK_FOLDER/DONE"; {make_result_command("ok")}')
    done = workshop.ralph("supervise", "task", "--restart-delay", "0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "settings: ../../.ralph/settings.json" in done.stdout
    assert where(workshop) == str(below.parents[1])
    (below / "task/DONE").unlink()
    command = ("supervise", "task", "--restart-delay", "0", "--", "sh", "-c", f"{WHERE}; touch task/DONE")
    assert workshop.ralph(*command).returncode == 0
    assert where(workshop) == str(below), "a command that is typed runs where it is typed"


def test_stories_are_found_from_a_subfolder_and_the_settings_above_them(workshop: ProjectFixture, below: Path) -> None:
    root, project = below.parents[1], below.parent
    (root / "bin").mkdir()
    (root / "bin/worker").symlink_to(workshop.home / "claude")
    workshop.repo = root
    workshop.settings(agent={"command": "bin/worker", "adapter": "claude"})
    workshop.repo = project
    StoryFixture(workshop).plan(make_story("US-001"))
    workshop.repo = below
    assert workshop.ralph("story", "check").returncode == 0
    done = workshop.ralph("story", "run", "-n", "1")
    assert f"settings: ../../.ralph/settings.json; working in {project}" in done.stdout.splitlines()[0], done.stderr
    assert where(workshop) == str(project)
    assert workshop.ralph("story", "init").returncode == 0
    assert (below / "ralph/tasks.json").exists(), "what is created is created here"


def test_tasks_are_made_shown_and_executed_from_a_subfolder(pipeline: PipelineFixture) -> None:
    workshop, root = pipeline.workshop, pipeline.repo
    del workshop.environment["RALPH_AGENT_COMMAND"]
    workshop.settings(agent="bin/worker")
    (root / "bin").mkdir()
    (root / "bin/worker").symlink_to(pipeline.home / "worker")
    workshop.repo = root / "src/deep"
    workshop.repo.mkdir(parents=True)
    pipeline.task("TASK-003")
    assert "TASK-003" in workshop.ralph("task", "list").stdout
    done = workshop.ralph("execute")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "settings: ../../.ralph/settings.json" in done.stdout.splitlines()[0]
    assert workshop.ralph("task", "show", "TASK-003").returncode == 0
    assert (root / "TASK-003.txt").exists(), "it landed where it belongs"
    assert not (workshop.repo / ".ralph").exists()


def test_init_says_that_other_settings_hold_here_already(workshop: ProjectFixture, below: Path) -> None:
    done = workshop.ralph("init", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Settings of {below.parents[1]} apply here.")
    assert (below / ".ralph/settings.json").exists()
    assert "settings:" not in workshop.ralph("run", "-p", "x", "--dry-run").stderr
