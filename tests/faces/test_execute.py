"""`ralph execute` as a user meets it: real git, real work trees, an agent that lies once and a reviewer that minds."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from support.processes import alive_with, eventually
from support.workshop import Workshop

AGENT = r"""#!/bin/sh
# Works as its stage wants. It lies on the first try of TASK-001 and its reviewer minds TASK-002 once.
cat > {home}/prompt.$RALPH_TASK.$RALPH_STAGE.$RALPH_ITERATION.$(ls {home} | grep -c "prompt.$RALPH_TASK")
case $RALPH_STAGE in
coder)
    {hook}
    if [ $RALPH_TASK-$RALPH_ITERATION = TASK-001-1 ] && [ ! -f {home}/lied ]; then touch {home}/lied
    else echo done > $RALPH_TASK.txt; git add -A; git commit -qm "Do $RALPH_TASK"; fi
    echo '<promise>IMPLEMENTATION_COMPLETE</promise>';;
reviewer)
    if [ $RALPH_TASK = TASK-002 ] && [ ! -f {home}/minded ]; then touch {home}/minded
    echo '<changes>'; echo 'Say it louder.'; echo '</changes>'
    else echo 'The file is there and says done.'; echo '<promise>REVIEW_PASSED</promise>'; fi;;
tester) echo 'The file is there and says done.'; echo '<promise>TESTS_PASSED</promise>';;
qa) echo 'The file is there and says done.'; echo '<promise>QA_PASSED</promise>';;
esac
"""


class Pipeline:
    """A repository with tasks and an agent."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self.repo, self.home = workshop.repo, workshop.home
        (self.repo / "README").write_text("x\n")
        workshop.git("add", "-A")
        workshop.git("commit", "-qm", "Start")
        self.agent()
        workshop.environment["RALPH_AGENT_COMMAND"] = "worker"
        assert workshop.ralph("spec", "create", "files").returncode == 0

    def agent(self, hook: str = ":") -> None:
        program = self.home / "worker"
        program.write_text(AGENT.replace("{home}", str(self.home)).replace("{hook}", hook))
        program.chmod(0o755)

    def task(self, name: str, *more: str) -> None:
        words = ["--outcome", f"{name}.txt is there", "--acceptance", "the file is there", "--acceptance", "says done"]
        verify = ["--coder-verify", "external", "--coder-verify-cmd", f"grep -q done {name}.txt"]
        qa = ["--qa-verify", "external", "--qa-verify-cmd", f"test -f {name}.txt"]
        done = self.workshop.ralph("task", "create", name, "files", f"Make {name}", *words, *verify, *qa, *more)
        assert done.returncode == 0, done.stderr

    def overtaken(self) -> str:
        """While the agent works, someone else commits the same file to the target."""
        change = (
            f"echo other > {self.repo}/TASK-001.txt; git -C {self.repo} add -A; git -C {self.repo} commit -qm Other"
        )
        return f"[ -f {self.home}/moved ] || {{ touch {self.home}/moved; {change}; }}"

    def status(self, name: str) -> dict[str, Any]:
        shown = self.workshop.ralph("task", "show", name, "--json")
        found = json.loads(shown.stdout)
        task: dict[str, Any] = found.get("task", found)
        return task


@pytest.fixture
def pipeline(workshop: Workshop) -> Pipeline:
    return Pipeline(workshop)


def test_three_tasks_two_at_once_all_land(pipeline: Pipeline) -> None:  # 000-05, 000-21, 002-17, 002-20
    pipeline.task("TASK-001")
    pipeline.task("TASK-002")
    pipeline.task("TASK-003", "--depends-on", "TASK-001", "--depends-on", "TASK-002")
    done = pipeline.workshop.ralph("execute", "-j", "2", timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("TASK-001", "TASK-002", "TASK-003"):
        assert (pipeline.repo / f"{name}.txt").read_text() == "done\n"
        assert pipeline.status(name)["status"] == "done"
    assert "Verification failed: Command exited with 2, expected 0" in "".join(
        path.read_text() for path in pipeline.home.glob("prompt.TASK-001.coder.2.*")
    )
    again = [p.read_text() for p in pipeline.home.glob("prompt.TASK-002.coder.*")]
    assert any("Say it louder." in text for text in again)
    assert pipeline.workshop.git("branch", "--list", "ralph/*") == ""
    assert not list((pipeline.repo / ".ralph/worktrees").iterdir())
    assert pipeline.workshop.git("status", "--porcelain") == ""
    assert "TASK-003  completed" in done.stdout


def test_a_promise_never_kept_goes_back_to_todo_with_the_failure(pipeline: Pipeline) -> None:  # 000-07, 000-20
    words = ["--coder-verify", "external", "--coder-verify-cmd", "false", "--coder-max-iterations", "2"]
    pipeline.workshop.ralph(
        "task", "create", "TASK-009", "files", "Never", "--outcome", "o", "--acceptance", "a", *words
    )
    done = pipeline.workshop.ralph("execute", "TASK-009", timeout=60)
    assert done.returncode == 1
    assert "Ralph loop exceeded 2 iterations" in done.stdout
    task = pipeline.status("TASK-009")
    assert task["status"] == "todo"
    failure = task["metadata"]["ralph_failure"]
    assert (failure["stage"], failure["iterations_used"]) == ("coder", 2)
    assert "Last verification: Command exited with 1, expected 0" in failure["reason"]
    assert list((pipeline.repo / ".ralph/worktrees").iterdir())  # its work is kept


def test_a_conflict_gets_one_run_to_resolve_it(pipeline: Pipeline) -> None:
    resolve = f"if grep -q conflicts {pipeline.home}/prompt.*; then git merge -q -X ours main -m Resolve; fi"
    move = f"{pipeline.overtaken()}; {resolve}"
    pipeline.agent(move)
    (pipeline.home / "lied").touch()
    pipeline.task("TASK-001")
    done = pipeline.workshop.ralph("execute", timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (pipeline.repo / "TASK-001.txt").read_text() == "done\n"


def test_a_conflict_nobody_resolves_blocks_and_names_the_branch(pipeline: Pipeline) -> None:
    pipeline.agent(pipeline.overtaken())
    (pipeline.home / "lied").touch()
    pipeline.task("TASK-001")
    done = pipeline.workshop.ralph("execute", timeout=60)
    assert done.returncode == 3, done.stdout + done.stderr
    task = pipeline.status("TASK-001")
    assert task["status"] == "blocked"
    assert "ralph/TASK-001" in json.dumps(task["metadata"])
    assert "ralph/TASK-001" in pipeline.workshop.git("branch", "--list", "ralph/*")


def test_cancel_and_status_from_another_terminal(pipeline: Pipeline) -> None:  # 000-17, 000-18
    pipeline.agent("touch {h}/up.$RALPH_TASK; setsid sleep 61.7 & sleep 60".replace("{h}", str(pipeline.home)))
    pipeline.task("TASK-001")
    pipeline.task("TASK-002")
    specflow = ["-c", "from ralph.faces.cli.specflow import entry; entry()"]
    with pipeline.workshop.start("execute", "-j", "2") as run:
        assert eventually(lambda: all((pipeline.home / f"up.TASK-00{n}").exists() for n in (1, 2)), 20)
        import subprocess
        import sys

        def ask(*words: str) -> str:
            return subprocess.run(
                [sys.executable, *specflow, *words],
                cwd=pipeline.repo,
                env=pipeline.workshop.environment,
                capture_output=True,
                text=True,
                check=False,
            ).stdout

        shown = ask("ralph-status")
        assert shown.startswith("Active Ralph Loops:\n")
        assert "  TASK-001 (coder): iteration 1/15, started " in shown
        began = time.monotonic()
        assert ask("ralph-cancel", "TASK-002") == "Cancelled Ralph loop for TASK-002 at iteration 1/15\n"
        assert time.monotonic() - began < 5
        assert pipeline.status("TASK-002")["status"] == "cancelled"
        assert pipeline.status("TASK-001")["status"] == "in_progress"
        run.terminate()
        time.sleep(0.3)
        run.terminate()
        run.communicate(timeout=20)
    assert run.returncode == 130
    assert not alive_with("61.7")
    assert pipeline.status("TASK-001")["status"] == "todo"


def test_after_kill_9_resume_goes_on(pipeline: Pipeline) -> None:  # 000-24
    (pipeline.home / "lied").touch()
    pipeline.agent(f"[ -f {pipeline.home}/go ] || {{ touch {pipeline.home}/up; sleep 60; }}")
    pipeline.task("TASK-001")
    with pipeline.workshop.start("execute") as run:
        assert eventually((pipeline.home / "up").exists, 20)
        run.kill()
        run.communicate()
    (pipeline.home / "go").touch()
    assert pipeline.status("TASK-001")["status"] == "in_progress"
    done = pipeline.workshop.ralph("execute", "--resume", timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert pipeline.status("TASK-001")["status"] == "done"


def test_an_unknown_task_or_stage_exits_2(pipeline: Pipeline) -> None:
    assert pipeline.workshop.ralph("execute", "TASK-404").returncode == 2
    assert pipeline.workshop.ralph("execute", "--stage", "cook").returncode == 2


def test_without_tasks_there_is_nothing_to_do(pipeline: Pipeline) -> None:
    done = pipeline.workshop.ralph("execute")
    assert done.returncode == 0
    assert "Nothing to do" in done.stdout
    assert isinstance(pipeline.repo, Path)
