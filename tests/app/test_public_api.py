"""`from ralph import …`: the names of the specifications, and a pipeline that really runs."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import ralph
from ralph import CompletionCriteria, ExecutionPipeline, PipelineStage, TaskCompletionSpec, VerificationMethod
from support.processes import wait_until
from support.workshop import ProjectFixture

SEEDS = (
    "RalphLoop RalphLoopConfig RalphLoopState PromiseVerifier CompletionCriteria TaskCompletionSpec"
    " VerificationMethod ExecutionPipeline RootAgentLoop Task TaskStatus PipelineStage AgentType"
).split()
WORKER = """#!/bin/sh
[ "$RALPH_STAGE" != judge ] || { grep -q '^+done' && echo VERIFIED; exit; }
{hook}
case $RALPH_STAGE in coder) echo done > a.txt; p=IMPLEMENTATION_COMPLETE;; reviewer) p=REVIEW_PASSED;;
tester) p=TESTS_PASSED;; qa) p=QA_PASSED;; esac
echo "The file is there."
echo "<promise>$p</promise>"
"""


def test_every_name_of_the_specifications_is_there() -> None:  # C25, 000-26
    assert set(SEEDS) <= set(ralph.__all__)
    assert sorted(ralph.__all__) == sorted(ralph._API) == ralph.__all__
    for name in ralph.__all__:
        assert getattr(ralph, name).__name__ == name
    with pytest.raises(AttributeError):
        _ = ralph.Nothing


def test_importing_ralph_loads_nothing_of_it() -> None:
    script = "import sys, ralph; print([m for m in sys.modules if m.startswith('ralph.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_completion_spec_goes_to_json_and_back() -> None:  # 002-02, 002-03
    coder = CompletionCriteria(
        "DONE",
        "d",
        verification_method=VerificationMethod.EXTERNAL,
        verification_config={"command": "true"},
        max_iterations=3,
    )
    spec = TaskCompletionSpec("o", ["a", "b"], coder=coder)
    assert TaskCompletionSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    assert [*spec.to_dict()] == ["outcome", "acceptance_criteria", "coder"]


@pytest.fixture
def shop(workshop: ProjectFixture) -> ProjectFixture:
    workshop.git("commit", "-qm", "Start", "--allow-empty")
    workshop.ralph("spec", "create", "files")
    words = ["--outcome", "o", "--acceptance", "the file is there"]
    verify = ["--coder-verify", "external", "--coder-verify-cmd", "test -f a.txt"]
    assert workshop.ralph("task", "create", "TASK-001", "files", "T", *words, *verify).returncode == 0
    return workshop


def pipeline(shop: ProjectFixture, hook: str = ":") -> ExecutionPipeline:
    program = shop.home / "worker"
    program.write_text(WORKER.replace("{hook}", hook))
    program.chmod(0o755)
    return ExecutionPipeline(shop.repo, agent="worker", environment=shop.environment)


def test_a_pipeline_takes_a_task_through_all_stages(shop: ProjectFixture) -> None:  # 000-26
    worked = pipeline(shop)
    staged = worked.execute_stage("TASK-001", PipelineStage.CODER)
    assert (staged.success, staged.issues) == (True, [])
    assert not (shop.repo / "a.txt").exists()
    assert worked.execute_task("TASK-001").success
    assert (shop.repo / "a.txt").read_text() == "done\n"
    assert worked.execute_task("TASK-001").success  # it is done
    assert worked.execute() == []


def test_the_reason_goes_to_the_issues(shop: ProjectFixture) -> None:  # 000-07, 002-20
    (result,) = pipeline(shop, "echo Hm.; exit").execute()
    assert (result.success, result.outcome) == (False, "stuck")
    assert "No completion promise found" in result.issues[0]


def test_a_pipeline_in_a_thread_is_cancelled_from_another(shop: ProjectFixture, tmp_path: Path) -> None:
    worked = pipeline(shop, f"touch {tmp_path}/up; sleep 60")
    found: list[ralph.ExecutionResult] = []
    thread = threading.Thread(target=lambda: found.extend(worked.execute()))
    thread.start()
    assert wait_until((tmp_path / "up").exists, 20)
    worked.cancel()
    thread.join(10)
    assert [(result.success, result.outcome) for result in found] == [(False, "interrupted")]
