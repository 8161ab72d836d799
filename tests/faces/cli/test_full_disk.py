"""What ralph does when what it prints finds no room."""

import os
import subprocess
from pathlib import Path

import pytest

from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

COMMANDS = [
    "--version",
    "--help",
    "run --help",
    "run -p x --dry-run",
    "status",
    "status --json",
    "config show",
    "config schema",
    "logs",
    "logs --json",
    "doctor",
    "agents",
    "spec list",
    "task list",
    "board",
    "verify templates",
    "completion bash",
    "init --yes --force",
]


def printing_to_full(workshop: ProjectFixture, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    with Path("/dev/full").open("w") as full:
        return subprocess.run(
            [*RALPH_ARGV, *words],
            cwd=workshop.repo,
            env={**workshop.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> ProjectFixture:
    """A repository in which there is something to tell."""
    workshop = ProjectFixture(tmp_path_factory.mktemp("full"))
    workshop.settings()
    assert workshop.ralph("run", "-p", "x").returncode == 0
    return workshop


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.parametrize("variables", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "at once"])
def test_what_cannot_be_printed_is_one_clear_error(used: ProjectFixture, line: str, variables: dict[str, str]) -> None:
    done = printing_to_full(used, *line.split(), **variables)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("No space left on device") == 1
    assert done.stderr.count("free some space, then try again") == 1
    assert "bug in ralph" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_of_a_run_only_the_display_is_lost(used: ProjectFixture) -> None:
    used.agent(make_result_command("<response>DONE</response>"))
    for words in (("run", "-p", "x"), ("run", "-p", "x", "--json")):
        done = printing_to_full(used, *words)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_an_error_nobody_can_be_told_keeps_its_exit_code(used: ProjectFixture) -> None:
    with Path("/dev/full").open("w") as full:
        for words in (["nonsense"], ["run"], ["config", "show"]):
            done = subprocess.run(
                [*RALPH_ARGV, *words], cwd=used.repo, env=used.environment, stdout=full, stderr=full, check=False
            )
            assert done.returncode == 2
