"""`--detach`: a run that outlives who started it."""

import pytest

from ralph.faces.cli.options.detach import DETACH_NAMES, drop_detach_words
from support.workshop import ProjectFixture


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["run", "-d", "-p", "x"], ["run", "-p", "x"]),
        (["run", "--detach", "-p", "x"], ["run", "-p", "x"]),
        (["supervise", "-d", "t", "--", "agent", "-d"], ["supervise", "t", "--", "agent", "-d"]),
    ],
)
def test_the_other_words_are_those_of_the_background(words: list[str], left: list[str]) -> None:
    assert drop_detach_words(words, DETACH_NAMES) == left


def test_a_run_goes_on_in_the_background_and_is_followed(workshop: ProjectFixture) -> None:
    workshop.git("commit", "-q", "--allow-empty", "-m", "Start")
    workshop.agent("sleep 1; echo '<response>DONE</response>'", name="worker")
    workshop.settings(agent={"command": "worker"})
    started = workshop.ralph("run", "-d", "-p", "x")
    assert started.returncode == 0, started.stderr
    assert "goes on in the background" in started.stdout
    followed = workshop.ralph("logs", "-f", started.stdout.rsplit(maxsplit=1)[-1])
    assert "Completed" in followed.stdout


def test_one_that_cannot_start_says_so_at_once(workshop: ProjectFixture) -> None:
    workshop.settings(agent={"command": "nothing-there"})
    done = workshop.ralph("run", "-d", "-p", "x")
    assert (done.returncode, "nothing-there" in done.stderr) == (2, True)
