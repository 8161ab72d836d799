"""`ralph demo` is the same for everyone, and touches nothing but its own folder."""

import os
from pathlib import Path

import pytest

from support.workshop import ProjectFixture

COMPLETED = "Completed: agent claimed <response>DONE</response>, 1 guardrail passed · 2 iterations"


def refusing_hooks(folder: Path) -> str:
    folder.mkdir()
    for name in ("pre-commit", "commit-msg"):
        (folder / name).write_text("#!/bin/sh\nexit 1\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_the_repository_a_hook_works_for_is_left_alone(workshop: ProjectFixture) -> None:
    workshop.git("commit", "-q", "--allow-empty", "-m", "mine")
    git = workshop.repo / ".git"
    before = workshop.git("for-each-ref") + (git / "config").read_text()
    done = workshop.ralph(
        "demo", GIT_DIR=str(git), GIT_INDEX_FILE=str(git / "index"), GIT_WORK_TREE=str(workshop.repo), GIT_PREFIX=""
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert COMPLETED in done.stdout
    assert workshop.git("for-each-ref") + (git / "config").read_text() == before
    assert workshop.git("status", "--porcelain") == ""
    assert sorted(os.listdir(workshop.repo)) == [".git"]
    assert not (git / "ralph").exists()


@pytest.mark.parametrize("how", ["global settings", "variables"])
def test_hooks_of_the_user_have_no_say(workshop: ProjectFixture, tmp_path: Path, how: str) -> None:
    hooks = refusing_hooks(tmp_path / "hooks")
    with (workshop.home / "gitconfig").open("a") as file:
        file.write(f"[core]\nhooksPath = {hooks}\n" if how == "global settings" else "")
    variables = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": hooks}
    workshop.environment.update(variables if how == "variables" else {})
    done = workshop.ralph("demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Committed: Write subtractive numerals" in done.stdout


def test_it_has_settings_of_its_own_only(workshop: ProjectFixture) -> None:
    (workshop.home / ".config/ralph").mkdir(parents=True)
    (workshop.home / ".config/ralph/settings.json").write_text('{"maximumIterations": 1, "budgetUsd": 0.01}')
    done = workshop.ralph(
        "demo", RALPH_MAXIMUM_ITERATIONS="1", RALPH_GUARDRAILS='[{"command": "false"}]', RALPH_MAXIMUM_ITERATION="1"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert COMPLETED in done.stdout


def test_it_can_be_kept(workshop: ProjectFixture, tmp_path: Path) -> None:
    done = workshop.ralph("demo", "--keep", TMPDIR=str(tmp_path))
    (folder,) = tmp_path.glob("ralph-demo-*")
    assert f"Kept: {folder}" in done.stdout
    assert (folder / ".git/ralph/ralph.db").exists()
