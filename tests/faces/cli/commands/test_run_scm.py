"""What `ralph run` commits, and where."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.processes import wait_until
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
    workshop.agent(f"{made}; echo 3 > ../.ralph/guardrail_001_x.log; {DONE}", make_result_command("Make it"))
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
    workshop.agent(f"echo $GIT_DIR > made; {DONE}", make_result_command("Make it"))
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
    workshop.agent(f"echo 1 > made; {answer}", make_result_command("Make it"))
    workshop.settings(scm={"command": "git", "tasks": ["commit", "push"]})
    told = workshop.ralph("run", "-p", "x", "-m", "1", "--json")
    ended = json.loads(told.stdout.splitlines()[-1])["event"]
    problem = "git commit failed with exit code 1: no tabs, please"
    assert (ended["type"], ended["outcome"], ended["problems"]) == ("run_ended", outcome, [problem])
    assert told.returncode == ended["exit_code"] == code
    assert problem in workshop.ralph("logs").stdout.splitlines()[-1]


# -- what the user had not committed -----------------------------------------------------------------
@pytest.fixture
def started(workshop: ProjectFixture) -> ProjectFixture:
    """Files that are committed, and a commit task."""
    for name in ("a.txt", "b.txt", ".gitignore"):
        (workshop.repo / name).write_text("one\n")
    workshop.settings(scm=SCM)
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Start")
    workshop.agent(f"echo 1 > made; {DONE}", make_result_command("Make it"))
    return workshop


REFUSAL = "uncommitted changes of yours would go into the agent's commits: "


@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_changes_of_the_users_own_are_refused_before_the_first_agent(  # issue 12; C35
    started: ProjectFixture, words: list[str]
) -> None:
    below = started.repo / "below"
    below.mkdir()
    for number in range(1, 18):
        (below / f"f{number:02}").write_text("1")
    started.git("add", "-A")
    (started.repo / "a.txt").write_text("two\n")
    done = started.ralph("run", "-p", "x", *words)
    assert done.returncode == 2
    assert f"{REFUSAL}a.txt, below/f01, below/f02, below/f03, below/f04 and 13 more\n" in done.stderr
    assert all(word in done.stderr for word in ("--allow-dirty", "scm.allowDirty", "--worktree"))
    assert started.calls == 0
    assert not (started.repo / ".git/ralph").exists()


@pytest.mark.parametrize("allowed_by", ["flag", "settings"])
def test_they_are_committed_where_that_is_allowed(started: ProjectFixture, allowed_by: str) -> None:  # issue 12; C35
    if allowed_by == "settings":
        started.settings(scm={**SCM, "allowDirty": True})
    (started.repo / "a.txt").write_text("two\n")
    done = started.ralph("run", "-p", "x", *(["--allow-dirty"] if allowed_by == "flag" else []))
    assert done.returncode == 0, done.stderr
    assert "a.txt" in started.git("show", "--name-only", "--format=").splitlines()


def rename(repo: Path) -> None:
    (repo / "a.txt").rename(repo / "c.txt")


def untracked(repo: Path) -> None:
    (repo / "mine.txt").write_text("mine")


def ignored(repo: Path) -> None:
    (repo / "one").write_text("mine")


def our_settings(repo: Path) -> None:
    path = repo / ".ralph/settings.json"
    path.write_text(path.read_text().replace("{", "{ ", 1))


def our_ignores(repo: Path) -> None:
    (repo / ".gitignore").write_text("one\n.ralph/*.log\n.ralph/prompt_*.txt\n")


def own_ignores(repo: Path) -> None:
    (repo / ".gitignore").write_text("one\n*.o\n")


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (rename, True),
        (untracked, False),
        (ignored, False),
        (our_settings, False),
        (our_ignores, False),
        (own_ignores, True),
    ],
)
def test_only_what_a_commit_would_take_counts(  # issue 12; C35
    started: ProjectFixture, change: Callable[[Path], None], refused: bool
) -> None:
    change(started.repo)
    done = started.ralph("run", "-p", "x")
    assert (REFUSAL in done.stderr) is refused
    assert done.returncode == (2 if refused else 0)
    if change is untracked:
        assert "untracked files are left out of commits: mine.txt" in done.stdout
        assert "mine.txt" not in committed(started)


@pytest.mark.parametrize("scm", [None, {"command": "git", "tasks": ["push"]}])
def test_who_commits_nothing_is_not_asked(started: ProjectFixture, scm: object) -> None:
    started.settings(**({"scm": scm} if scm else {}))
    (started.repo / "a.txt").write_text("two\n")
    assert started.ralph("run", "-p", "x").returncode == 0


def test_a_run_goes_on_with_what_its_own_agent_left(started: ProjectFixture) -> None:  # issue 12; C35
    started.settings(scm=SCM, guardrails=["test -f green"])
    started.agent(f"echo two > a.txt; {DONE}", f"touch green; {DONE}", make_result_command("Make it"))
    assert started.ralph("run", "-p", "x", "-m", "1").returncode == 1
    assert " M a.txt\n" in started.git("status", "--porcelain")
    done = started.ralph("run", "--resume", "-m", "2")
    assert done.returncode == 0, done.stderr
    assert {"a.txt", "green"} <= {*started.git("show", "--name-only", "--format=").splitlines()}


def test_a_tree_that_is_busy_is_called_busy(started: ProjectFixture) -> None:
    started.agent(f"echo two > a.txt; touch up; sleep 2; {DONE}", make_result_command("Make it"))
    with started.start("run", "-p", "x") as first:
        assert wait_until((started.repo / "up").exists)
        again = started.ralph("run", "-p", "x")
        first.communicate()
    assert again.returncode == 2
    assert "is busy" in again.stderr


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
