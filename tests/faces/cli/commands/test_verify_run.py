"""`ralph verify RUN`: what a receipt says is tried again, here and in any clone."""

import json
import shlex
import subprocess
from pathlib import Path

import msgspec
import pytest

from ralph.core.check_evidence import digest_checks
from ralph.model.receipt import CheckEvidence
from support.pipeline import PipelineFixture
from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

TOOL = {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "Bash"}]}}
CLAIM = f"printf '%s\\n' {shlex.quote(json.dumps(TOOL))}; {make_result_command('<response>DONE</response>')}"
WORK = "mkdir -p lib; echo fine > lib/state; echo work > new"


@pytest.fixture
def project(workshop: ProjectFixture) -> ProjectFixture:
    workshop.settings(guardrails=["grep -q fine lib/state", {"command": "cat installed/tool", "timeoutSeconds": 60}])
    (workshop.repo / ".gitignore").write_text(".ralph/\ninstalled/\n")
    (workshop.repo / "installed").mkdir()
    (workshop.repo / "installed/tool").write_text("here\n")
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Start")
    return workshop


def complete(project: ProjectFixture, work: str = WORK) -> str:
    project.agent(f"{work}; {CLAIM}")
    assert project.ralph("run", "-p", "x").returncode == 0
    return str(project.status()["id"])


def verify_in(folder: Path, project: ProjectFixture, *words: str) -> subprocess.CompletedProcess[str]:
    argv, environment = [*RALPH_ARGV, "verify", *words], project.environment
    return subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def receipt_of(project: ProjectFixture, run: str) -> Path:
    return project.repo / ".git/ralph/runs" / run / "receipt.json"


def clone(project: ProjectFixture, folder: Path) -> Path:
    project.git("clone", "-q", f"file://{project.repo}", str(folder))
    return folder


def test_the_checks_of_a_run_are_run_on_its_files_whatever_became_of_them_since(project: ProjectFixture) -> None:
    run = complete(project)
    (project.repo / "lib/state").write_text("broken since\n")
    done = project.ralph("verify", run)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Verified: 2 checks passed again" in done.stdout
    assert (project.repo / "lib/state").read_text() == "broken since\n"
    assert project.git("worktree", "list").count("\n") == 1, "nothing is left behind"


def test_what_no_longer_holds_is_named_with_what_it_printed(project: ProjectFixture) -> None:
    run = complete(project)
    (project.repo / "installed/tool").unlink()
    done = project.ralph("verify", run, "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert [check["standing"] for check in found["checks"]] == ["holds", "broken"]
    assert "No such file" in found["checks"][1]["detail"]
    assert "✗ cat installed/tool: Command exited with 1" in project.ralph("verify", run, "--glyphs", "unicode").stdout


def test_a_receipt_is_verified_in_a_clone_that_has_its_files(project: ProjectFixture, tmp_path: Path) -> None:
    project.settings(guardrails=["grep -q fine lib/state"])
    run = complete(project)
    elsewhere = clone(project, tmp_path / "early")
    early = verify_in(elsewhere, project, str(receipt_of(project, run)))
    assert early.returncode == 1, "the commit it began on has no such file"
    assert "without what it did not commit" in early.stdout
    project.git("add", "-A")
    project.git("commit", "-qm", "Work")
    late = verify_in(clone(project, tmp_path / "late"), project, str(receipt_of(project, run)))
    assert late.returncode == 0, late.stdout + late.stderr


def test_a_commit_that_is_not_in_the_clone_is_told(project: ProjectFixture, tmp_path: Path) -> None:
    elsewhere = clone(project, tmp_path / "old")
    run = complete(project, f"{WORK}; git add -A; git commit -qm Work")
    done = verify_in(elsewhere, project, str(receipt_of(project, run)))
    assert done.returncode == 2
    assert "git fetch" in done.stderr


def test_a_commit_of_ours_names_its_receipt_and_is_verified_by_it(project: ProjectFixture, tmp_path: Path) -> None:
    project.settings(guardrails=["grep -q fine lib/state"], scm={"command": "git", "tasks": ["commit"]})
    project.agent(f"{WORK}; {CLAIM}", "echo Do the work")
    assert project.ralph("run", "-p", "x").returncode == 0
    commit, run = project.git("rev-parse", "HEAD").strip(), project.status()["id"]
    assert project.git("log", "-1", "--format=%s").strip() == "Do the work"  # 001-24
    receipt = json.loads(receipt_of(project, run).read_text())
    (signed,) = receipt["commits"]
    assert signed["commit"] == commit
    assert receipt["digest"].startswith(signed["digest"])
    assert project.git("log", "-1", "--format=%(trailers)").strip() == f"Ralph-Receipt: {run} sha256:{signed['digest']}"
    assert project.ralph("verify", commit[:9]).returncode == 0
    elsewhere = verify_in(clone(project, tmp_path / "clone"), project, commit[:9])
    assert elsewhere.returncode == 2
    assert f"runs/{run}/receipt.json" in elsewhere.stderr


def test_a_commit_that_names_a_run_falsely_is_found_out(project: ProjectFixture) -> None:
    run = complete(project)
    project.git("commit", "-q", "--allow-empty", "-m", f"Fake it\n\nRalph-Receipt: {run} sha256:{40 * '0'}")
    done = project.ralph("verify", "HEAD")
    assert done.returncode == 1
    assert "another digest" in done.stdout


def test_a_run_that_did_not_complete_is_not_verified(project: ProjectFixture) -> None:
    project.agent(CLAIM)
    assert project.ralph("run", "-p", "x", "-m", "1").returncode == 1
    done = project.ralph("verify", project.status()["id"])
    assert done.returncode == 1
    assert "did not complete" in done.stdout


def test_a_run_in_a_repository_without_a_commit_is_verified(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=["grep -q fine lib/state"])
    run = complete(workshop)
    done = workshop.ralph("verify", run)
    assert (done.returncode, "1 check passed again" in done.stdout) == (0, True), done.stdout + done.stderr


def test_a_run_without_checks_cannot_be_verified(workshop: ProjectFixture) -> None:
    workshop.git("commit", "-q", "--allow-empty", "-m", "Start")
    assert workshop.ralph("run", "-p", "x").returncode == 0
    done = workshop.ralph("verify", workshop.status()["id"])
    assert done.returncode == 1
    assert "no check that could be run again" in done.stdout


@pytest.mark.parametrize("name", ["20200101-000000-aaaa", "README", "0123456789abcdef"])
def test_what_is_neither_run_nor_receipt_nor_commit_is_refused(project: ProjectFixture, name: str) -> None:
    (project.repo / "README").write_text("no receipt\n")
    done = project.ralph("verify", name)
    assert done.returncode == 2
    assert done.stderr.startswith("ralph: ")


def test_a_task_is_verified_on_what_landed_each_command_once(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    pipeline.task("TASK-001")
    shop = pipeline.workshop
    assert shop.ralph("execute").returncode == 0
    shop.git("rm", "-q", "TASK-001.txt")
    shop.git("commit", "-qm", "Take it back")
    run = shop.status()["id"]
    found = json.loads(shop.ralph("verify", run, "--json").stdout)
    assert found["holds"]
    assert found["commit"] == shop.git("rev-parse", "HEAD~1").strip()


def test_a_receipt_that_somebody_edited_is_not_believed(pipeline: PipelineFixture, tmp_path: Path) -> None:
    uncommitted = "echo done > $RALPH_TASK.txt; echo '<promise>IMPLEMENTATION_COMPLETE</promise>'; exit"
    pipeline.agent(hook=uncommitted)  # so that the commit is ours, and names its receipt
    pipeline.task("TASK-001")
    shop = pipeline.workshop
    assert shop.ralph("execute").returncode == 0
    told = receipt_of(shop, shop.status()["id"]).read_text()
    edited, signed = tmp_path / "edited.json", tmp_path / "signed.json"
    receipt = json.loads(told)
    receipt["checks"][0]["name"] = "echo edited"
    edited.write_text(json.dumps(receipt))
    checks = msgspec.convert(receipt["checks"], tuple[CheckEvidence, ...])
    signed.write_text(json.dumps({**receipt, "digest": digest_checks(checks)}))
    for path, words in ((edited, "was edited"), (signed, "names another digest")):
        found = json.loads(verify_in(shop.repo, shop, str(path), "--json").stdout)
        assert (found["holds"], words in found["problem"]) == (False, True)
    (tmp_path / "true.json").write_text(told)
    assert verify_in(shop.repo, shop, str(tmp_path / "true.json")).returncode == 0


def test_all_landed_tasks_are_tried_on_the_present_target(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    pipeline.task("TASK-001")
    pipeline.task("TASK-003")
    shop = pipeline.workshop
    assert shop.ralph("verify", "--all").stdout == "No task is merged yet.\n"
    assert shop.ralph("execute").returncode == 0
    (shop.repo / "TASK-001.txt").write_text("not committed, so not looked at\n")
    assert shop.ralph("verify", "--all").returncode == 0
    shop.git("checkout", "-q", "--", "TASK-001.txt")
    shop.git("rm", "-q", "TASK-001.txt")
    shop.git("commit", "-qm", "Take it back")
    done = shop.ralph("verify", "--all", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert {each["task"]: each["holds"] for each in found["tasks"]} == {"TASK-001": False, "TASK-003": True}
    assert "No longer true: TASK-001" in shop.ralph("verify", "--all").stdout
