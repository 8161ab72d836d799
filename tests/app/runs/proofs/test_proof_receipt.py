"""`receipt.json`: which files were proven, by what, and that it can be made again."""

import json
import shlex
from pathlib import Path

import pytest

from support.pipeline import PipelineFixture
from support.workshop import ProjectFixture, make_result_command

TOOL = {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "Bash"}]}}
CLAIM = f"printf '%s\\n' {shlex.quote(json.dumps(TOOL))}; {make_result_command('<response>DONE</response>')}"
SECRET_GUARDRAIL = "API_TOKEN=hunter2 test -f done"


@pytest.fixture
def project(workshop: ProjectFixture) -> ProjectFixture:
    workshop.settings(guardrails=["test -f done", SECRET_GUARDRAIL])
    (workshop.repo / ".gitignore").write_text(".ralph/\n")
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Start")
    return workshop


def locate(project: ProjectFixture) -> Path:
    (found,) = (project.repo / ".git/ralph/runs").glob("*")
    return found / "receipt.json"


def test_a_run_leaves_a_receipt_of_what_was_checked_on_which_files(project: ProjectFixture) -> None:
    project.agent(f"touch done; {CLAIM}")
    assert project.ralph("run", "-p", "x", "--baseline").returncode == 0
    receipt = json.loads(locate(project).read_text())
    assert (receipt["run"], receipt["outcome"], receipt["isolation"]) == (project.status()["id"], "completed", "none")
    assert receipt["commit"] == project.git("rev-parse", "HEAD").strip()
    assert not receipt["is_committed"]
    (own,) = (project.home / ".local/state/ralph/trees").iterdir()
    assert "done" in project.git(f"--git-dir={own}", "ls-tree", "--name-only", receipt["tree"]).splitlines()
    check, secret = receipt["checks"]
    assert (check["name"], check["exit_code"], check["red_before"]) == ("test -f done", 0, True)
    assert (secret["name"], secret["is_redacted"]) == ("API_TOKEN=*** test -f done", True)
    assert "hunter2" not in locate(project).read_text()


def test_what_the_agent_committed_is_proven_as_a_commit(project: ProjectFixture) -> None:
    project.agent(f"touch done; git add -A; git commit -qm Work; {CLAIM}")
    assert project.ralph("run", "-p", "x").returncode == 0
    receipt = json.loads(locate(project).read_text())
    assert receipt["is_committed"]
    assert receipt["tree"] == project.git("rev-parse", "HEAD^{tree}").strip()


def test_a_tree_that_could_not_be_kept_is_not_named_as_an_earlier_one(project: ProjectFixture) -> None:
    ref = "$HOME/.local/state/ralph/trees/*/refs/ralph/$RALPH_RUN_ID"
    project.settings(guardrails=[f"cp $HOME/saved {ref}"])  # as if the disk had been full
    project.agent(f"cp {ref} $HOME/saved; touch done; {CLAIM}")
    assert project.ralph("run", "-p", "x").returncode == 0
    assert json.loads(locate(project).read_text())["tree"] == ""


def test_show_makes_a_receipt_that_is_missing_and_keeps_one_that_is_there(project: ProjectFixture) -> None:
    project.agent(f"touch done; {CLAIM}")
    assert project.ralph("run", "-p", "x").returncode == 0
    before = json.loads(locate(project).read_text())
    locate(project).unlink()
    project.git("commit", "-q", "--allow-empty", "-m", "Somebody went on")
    shown = json.loads(project.ralph("show", "--json").stdout)["proof"]
    made = json.loads(locate(project).read_text())
    assert (made["tree"], made["commit"]) == (before["tree"], ""), "what is checked out now was not checked then"
    assert made["checks"] == before["checks"] == shown["checks"]
    assert json.loads(project.ralph("show", "--json").stdout)["proof"] == shown


def test_a_receipt_that_was_edited_cannot_say_that_a_check_passed(project: ProjectFixture) -> None:
    project.agent(CLAIM)
    assert project.ralph("run", "-p", "x", "-m", "1").returncode == 1
    forged = locate(project).read_text().replace('"passed": false', '"passed": true')
    locate(project).write_text(forged)
    checks = json.loads(project.ralph("show", "--json").stdout)["proof"]["checks"]
    assert [check["passed"] for check in checks] == [False, False]


def test_a_run_that_nothing_proves_says_so(workshop: ProjectFixture) -> None:
    workshop.settings()
    assert workshop.ralph("run", "-p", "x").returncode == 0
    assert json.loads(locate(workshop).read_text())["by_words_only"]
    assert "by words only" in workshop.ralph("show").stdout


def test_a_task_has_a_receipt_of_all_its_stages_on_the_commit_that_landed(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    pipeline.task("TASK-001")
    assert pipeline.workshop.ralph("execute").returncode == 0
    receipt = json.loads(locate(pipeline.workshop).read_text())
    assert (receipt["task"], receipt["commit"]) == ("TASK-001", pipeline.workshop.git("rev-parse", "main").strip())
    assert receipt["is_committed"]
    commands = [(c["role"], c["name"], c["on_merged_tree"]) for c in receipt["checks"] if c["kind"] == "command"]
    assert commands == [
        ("coder", "grep -q done TASK-001.txt", False),
        ("qa", "test -f TASK-001.txt", False),
        ("qa", "test -f TASK-001.txt", True),
    ]
    page = pipeline.workshop.ralph("show").stdout
    assert "coder: grep -q done TASK-001.txt, exit code 0" in page
