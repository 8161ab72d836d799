"""Bare `ralph` on a terminal, where nothing is set up."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.terminal import PseudoTerminal
from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

PERMISSIONS, PROMPT, START = (
    "without asking? [checks]: ",
    "What should the agent do? (text or a file)",
    "Start? (Y/n): ",
)
CTRL_C = "\x03"


class GuidedTerminal(PseudoTerminal):
    """`ralph`, and nothing else."""

    def __init__(self, workshop: ProjectFixture) -> None:
        super().__init__(RALPH_ARGV, workshop.repo, workshop.environment, size=(80, 24))

    def answers(self, *exchange: tuple[str, str]) -> None:
        for question, keys in exchange:
            assert self.sees(question), self.seen.decode()
            self.types(keys)


@pytest.fixture
def first(workshop: ProjectFixture) -> ProjectFixture:
    """A repository with a check that fails until the agent was there."""
    answer = (
        f"[ $1 = --version ] && echo 9.8.7 && exit; touch fixed; {make_result_command('<response>DONE</response>')}"
    )
    workshop.agent(answer)
    (workshop.repo / "Makefile").write_text("test:\n\t@echo 12 passed; test -f fixed\nlint:\n\t@no-such-linter\n")
    return workshop


@pytest.fixture
def terminal(first: ProjectFixture) -> Iterator[GuidedTerminal]:
    terminal = GuidedTerminal(first)
    yield terminal
    terminal.close()


def read_settings(repo: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((repo / ".ralph/settings.json").read_text())
    return found


def test_two_answers_lead_to_a_run_that_completes(first: ProjectFixture, terminal: GuidedTerminal) -> None:
    terminal.answers((PERMISSIONS, "\n"), (PROMPT, "Fix the tests\n"))
    assert terminal.sees(START)
    shown = terminal.seen.decode()
    assert not (first.repo / ".ralph").exists(), "nothing is written before the last answer"
    for part in ("claude, 9.8.7", "make test: fails (12 passed", "make lint: cannot run here", "on branch main"):
        assert part in shown
    assert "'Bash(make test)'" in shown, "the dry run shows how the agent will be called"
    assert shown.count("\n") < 24, "all of it is on one screen"
    terminal.types("\n")
    assert terminal.ended(30) == 0, terminal.seen.decode()
    assert "Next time: ralph run -p 'Fix the tests'" in terminal.seen.decode()
    settings = read_settings(first.repo)
    assert settings["agent"] == {"command": "claude", "flags": [], "permissions": "checks"}
    assert settings["guardrails"] == [{"command": "make test", "failAction": "APPEND"}]
    assert first.prompt(2).startswith("Fix the tests")


def test_a_prompt_file_is_the_default_and_read_by_the_run(first: ProjectFixture, terminal: GuidedTerminal) -> None:
    (first.repo / "PROMPT.md").write_text("From the file.\n")
    terminal.answers((PERMISSIONS, "edits\n"), (f"{PROMPT} [PROMPT.md]: ", "\n"), (START, "y\n"))
    assert terminal.ended(30) == 0, terminal.seen.decode()
    assert first.prompt(2).startswith("From the file.")
    assert "ralph run -f PROMPT.md" in terminal.seen.decode()
    assert first.status()["outcome"] == "completed"


def test_a_no_writes_nothing_and_says_what_else_there_is(first: ProjectFixture, terminal: GuidedTerminal) -> None:
    terminal.answers((PERMISSIONS, "\n"), (PROMPT, "x\n"), (START, "n\n"))
    assert terminal.ended() == 0
    assert "Nothing was written" in terminal.seen.decode()
    assert not (first.repo / ".ralph").exists()


def test_ctrl_c_at_a_question_writes_nothing(first: ProjectFixture, terminal: GuidedTerminal) -> None:
    terminal.answers((PERMISSIONS, "\n"), (PROMPT, CTRL_C))
    assert terminal.ended() == 130
    assert not (first.repo / ".ralph").exists()


@pytest.mark.parametrize("words", [(), ("init",)], ids=["ralph", "ralph init"])
def test_ctrl_c_ends_a_check_that_takes_long_and_all_that_it_started(  # 001-07
    workshop: ProjectFixture, words: tuple[str, ...]
) -> None:
    (workshop.repo / "Makefile").write_text("test:\n\t@touch begun; sleep 60\n")
    terminal = PseudoTerminal([*RALPH_ARGV, *words], workshop.repo, workshop.environment)
    try:
        assert terminal.until((workshop.repo / "begun").exists), terminal.seen.decode()
        began = time.monotonic()
        terminal.types(CTRL_C)
        assert terminal.ended(15) == 130, terminal.seen.decode()
        assert time.monotonic() - began < 10
    finally:
        terminal.close()
    assert not (workshop.repo / ".ralph").exists()


def test_without_git_a_mere_enter_starts_nothing(first: ProjectFixture, tmp_path: Path) -> None:
    first.repo = tmp_path / "plain"
    first.repo.mkdir()
    terminal = GuidedTerminal(first)
    try:
        terminal.answers((PERMISSIONS, "\n"), (PROMPT, "x\n"), ("Start without git? (y/N): ", "\n"))
        assert terminal.ended() == 0
        assert "not a repository" in terminal.seen.decode()
        assert "cannot be undone" not in terminal.seen.decode()  # snapshots need git, but no repository
        assert "none that can run here" in terminal.seen.decode()
    finally:
        terminal.close()
    assert not (first.repo / ".ralph").exists()


def test_without_an_agent_it_says_how_to_get_one(first: ProjectFixture) -> None:
    (first.home / "claude").unlink()
    first.environment["PATH"] = "/usr/bin:/bin"
    terminal = GuidedTerminal(first)
    try:
        assert terminal.ended() == 2
        assert "no coding agent on PATH" in terminal.seen.decode()
        assert "npm install" in terminal.seen.decode()
        assert "ralph demo" in terminal.seen.decode()
    finally:
        terminal.close()


def test_a_prompt_that_is_not_utf8_is_told_before_anything_is_written(
    first: ProjectFixture, terminal: GuidedTerminal
) -> None:
    (first.repo / "PROMPT.md").write_bytes(b"caf\xe9\n")
    terminal.answers((PERMISSIONS, "\n"), (PROMPT, "\n"))
    assert terminal.ended() == 2
    assert "not UTF-8" in terminal.seen.decode()
    assert not (first.repo / ".ralph").exists()


def test_with_settings_here_or_above_it_is_the_help(first: ProjectFixture) -> None:
    first.settings()
    (first.repo / "below").mkdir()
    first.repo /= "below"
    terminal = GuidedTerminal(first)
    try:
        assert terminal.ended() == 2
        assert "Usage: ralph" in terminal.seen.decode()
    finally:
        terminal.close()


def test_without_a_terminal_it_is_the_help(first: ProjectFixture) -> None:
    done = first.ralph()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: ralph")
    assert first.calls == 0
