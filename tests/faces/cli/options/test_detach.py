"""`--detach`: a run that outlives who started it."""

from pathlib import Path

import pytest

from ralph.faces.cli.commands.run import command as run_command
from ralph.faces.cli.commands.story import command as story_command
from ralph.faces.cli.options.detach import (
    DETACH_NAMES,
    drop_detach_words,
    list_detach_names,
    list_valued_options,
)
from support.processes import wait_until
from support.stories import StoryFixture, make_story
from support.workshop import ProjectFixture


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["run", "-d", "-p", "x"], ["run", "-p", "x"]),
        (["run", "--detach", "-p", "x"], ["run", "-p", "x"]),
        (["run", "-dp", "x"], ["run", "-p", "x"]),  # or it would detach again, and again
        (["run", "-dm3", "-Vdp", "x"], ["run", "-m3", "-Vp", "x"]),
        (["run", "-dd", "-f", "-"], ["run", "-f", "-"]),
        (["run", "-p", "-d", "-mp", "-d"], ["run", "-p", "-d", "-mp"]),  # a value is nobody's option
        (["run", "-d", "--prompt", "--detach", "--agent=x -d"], ["run", "--prompt", "--detach", "--agent=x -d"]),
        (["run", "--resume", "-d", "-p"], ["run", "--resume", "-p"]),
        (["supervise", "-d", "t", "--", "agent", "-d"], ["supervise", "t", "--", "agent", "-d"]),
    ],
)
def test_the_other_words_are_those_of_the_background(words: list[str], left: list[str]) -> None:
    assert drop_detach_words(words, DETACH_NAMES, list_valued_options(run_command)) == left


def test_the_letter_is_another_option_of_story_run() -> None:
    command = story_command.commands["run"]
    words = ["story", "run", "--detach", "-d", "folder"]
    left = drop_detach_words(words, list_detach_names(command), list_valued_options(command))
    assert left == ["story", "run", "-d", "folder"]


def test_a_run_goes_on_in_the_background_and_is_followed(workshop: ProjectFixture) -> None:
    workshop.git("commit", "-q", "--allow-empty", "-m", "Start")
    workshop.agent("sleep 1; echo '<response>DONE</response>'", name="worker")
    workshop.settings(agent={"command": "worker"})
    started = workshop.ralph("run", "-d", "-p", "x")
    assert started.returncode == 0, started.stderr
    assert "runs in the background" in started.stdout
    followed = workshop.ralph("logs", "-f", started.stdout.rsplit(maxsplit=1)[-1])
    assert "Completed" in followed.stdout


@pytest.mark.parametrize("loop", ["story", "supervise", "execute"])
def test_every_loop_goes_on_in_the_background(workshop: ProjectFixture, loop: str) -> None:
    workshop.git("commit", "-q", "--allow-empty", "-m", "Start")
    workshop.agent(f"touch {workshop.home}/worked; sleep 0.3; echo x", name="worker")
    workshop.settings(agent={"command": "worker"}, specflow={"semantic": "words"})
    words: tuple[str, ...] = ("story", "run", "--detach", "-n", "1")
    if loop == "story":
        StoryFixture(workshop).plan(make_story("US-1"))
    elif loop == "supervise":
        task = workshop.repo / "tasks/app/job"
        task.mkdir(parents=True)
        (task / "TASK.md").write_text("Do it.\n")
        words = ("supervise", "-d", str(task), "--max-restarts", "1")
    else:
        workshop.call("spec", "create", "files")
        wanted = ("--outcome", "It is there", "--acceptance", "it is there", "--coder-max-iterations", "1")
        workshop.call("task", "create", "T-1", "files", "Make T", *wanted)
        words = ("execute", "-d")
    started = workshop.ralph(*words)
    assert started.returncode == 0, started.stderr
    assert "runs in the background" in started.stdout
    assert wait_until(lambda: workshop.status()["outcome"])
    assert (workshop.home / "worked").exists()


def test_a_task_outside_the_repository_is_not_waited_for(workshop: ProjectFixture) -> None:
    task = workshop.home / "tasks/app/job"
    task.mkdir(parents=True)
    (task / "TASK.md").write_text("Do it.\n")
    script = 'while [ ! -e "$TASK_FOLDER/go" ]; do sleep 0.05; done; touch "$TASK_FOLDER/DONE"'
    started = workshop.ralph("supervise", "-d", str(task), "--", "sh", "-c", script)  # it ends only once we say so
    (task / "go").touch()
    assert started.returncode == 0, started.stderr
    assert started.stdout.startswith("Run 20")
    log = Path(started.stdout.partition("Follow it with: tail -f ")[2].strip())  # `ralph logs` knows no run of there
    assert wait_until(lambda: "Completed" in log.read_text())


def test_one_that_cannot_start_says_so_at_once(workshop: ProjectFixture) -> None:
    workshop.settings(agent={"command": "nothing-there"})
    done = workshop.ralph("run", "-d", "-p", "x")
    assert (done.returncode, "nothing-there" in done.stderr) == (2, True)
