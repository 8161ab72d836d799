"""What `ralph run` commits, and where."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

DONE = make_result_command("<response>DONE</response>")
SCM = {"command": "git", "tasks": ["commit"]}


def run_in(folder: Path, workshop: ProjectFixture, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {**workshop.environment, **variables}
    words = [*RALPH_ARGV, "run", "-p", "x", "-m", "2"]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def committed(workshop: ProjectFixture) -> list[str]:
    return workshop.git("ls-tree", "-r", "--name-only", "HEAD").splitlines()


def test_new_files_anywhere_in_the_work_tree_are_committed(workshop: ProjectFixture) -> None:
    below = workshop.repo / "below"
    below.mkdir()
    for name in ("mine.txt", "below/mine.txt"):
        (workshop.repo / name).write_text("the user's own, untracked")
    (workshop.repo / ".gitignore").write_text("*.o\n")
    made = "echo 1 | tee made ../made ../made.o > '../*.txt'; mkdir -p ../other ../.ralph; echo 2 > ../other/made"
    workshop.agent(f"{made}; echo 3 > ../.ralph/guardrail_001_x.log; {DONE}", "echo Make it")
    workshop.settings(scm=SCM)
    os.rename(workshop.repo / ".ralph", below / ".ralph")
    done = run_in(below, workshop)
    assert done.returncode == 0, done.stdout + done.stderr
    assert committed(workshop) == ["*.txt", "below/made", "made", "other/made"]
    left = workshop.git("status", "--porcelain", "--untracked-files=all").splitlines()
    assert [line for line in left if ".ralph/" not in line] == ["?? .gitignore", "?? below/mine.txt", "?? mine.txt"]


def test_another_repository_that_variables_name_is_left_alone(workshop: ProjectFixture, tmp_path: Path) -> None:
    other = tmp_path / "other"
    workshop.git("init", "-q", str(other))
    workshop.agent(f"echo $GIT_DIR > made; {DONE}", "echo Make it")
    workshop.settings(scm=SCM, guardrails=[{"command": 'test -n "$GIT_DIR"'}])
    done = run_in(workshop.repo, workshop, GIT_DIR=str(other / ".git"), GIT_INDEX_FILE=str(other / ".git/index"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert committed(workshop) == ["made"]
    assert (workshop.repo / "made").read_text().strip() == str(other / ".git")  # the agent's environment is the user's
    assert not (other / ".git/index").exists()


@pytest.mark.parametrize("words", [["-p", "x"], ["-p", "x", "--dry-run"]])
def test_an_scm_that_is_not_there_is_refused_before_anyone_is_paid(workshop: ProjectFixture, words: list[str]) -> None:
    workshop.settings(scm={"command": "no-such-scm", "tasks": ["commit"]})
    done = workshop.ralph("run", *words)
    assert done.returncode == 2
    assert "scm.command not found: 'no-such-scm' is not on PATH\n  → install it, or set scm.command" in done.stderr
    assert workshop.calls == 0
    assert not (workshop.repo / ".git/ralph").exists()


@pytest.mark.parametrize(
    ("answer", "outcome", "code"), [(DONE, "completed", 0), (make_result_command("more to do"), "exhausted", 1)]
)
def test_a_commit_that_failed_stands_at_the_end_and_changes_no_exit_code(  # issue 12
    workshop: ProjectFixture, answer: str, outcome: str, code: int
) -> None:
    (workshop.repo / ".git/hooks/pre-commit").write_text("#!/bin/sh\necho 'no tabs, please' >&2; exit 1\n")
    (workshop.repo / ".git/hooks/pre-commit").chmod(0o755)
    workshop.agent(f"echo 1 > made; {answer}", "echo Make it")
    workshop.settings(scm={"command": "git", "tasks": ["commit", "push"]})
    told = workshop.ralph("run", "-p", "x", "-m", "1", "--json")
    ended = json.loads(told.stdout.splitlines()[-1])["event"]
    problem = "git commit failed with exit code 1: no tabs, please"
    assert (ended["type"], ended["outcome"], ended["problems"]) == ("run_ended", outcome, [problem])
    assert told.returncode == ended["exit_code"] == code
    assert problem in workshop.ralph("logs").stdout.splitlines()[-1]


def test_an_scm_with_nothing_to_do_need_not_be_there(workshop: ProjectFixture) -> None:
    workshop.settings(scm={"command": "no-such-scm", "tasks": []})
    assert workshop.ralph("run", "-p", "x").returncode == 0


def test_a_run_goes_on_only_with_its_scm(workshop: ProjectFixture) -> None:
    workshop.agent(make_result_command("still at it"))
    tool = workshop.home / "my-scm"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    workshop.settings(scm={"command": "my-scm", "tasks": ["save"]})
    assert workshop.ralph("run", "-p", "x", "-m", "1").returncode == 1
    tool.unlink()
    done = workshop.ralph("run", "--resume", "-m", "2")
    assert done.returncode == 2
    assert "scm.command not found" in done.stderr
    assert workshop.calls == 1
