"""`ralph execute --resume`: what was decided and not done is done, what had finished is not repeated."""

import json
import shutil

import pytest

from support.pipeline import PipelineFixture
from support.processes import wait_until

STAGES = ("coder", "reviewer", "tester", "qa")
MINDS = "[ $RALPH_STAGE = reviewer ] && { echo '<changes>'; echo Louder.; echo '</changes>'; exit; }"


def killed(pipeline: PipelineFixture, mark: str) -> None:
    """Once the mark is there."""
    with pipeline.workshop.start("execute") as run:
        assert wait_until((pipeline.home / mark).exists, 20)
        run.kill()
        run.communicate()
    assert pipeline.status("TASK-001")["status"] == "in_progress"


def ended_gently(pipeline: PipelineFixture, mark: str, *words: str) -> None:
    with pipeline.workshop.start("execute", *words) as run:
        assert wait_until((pipeline.home / mark).exists, 20)
        run.terminate()
        run.communicate(timeout=20)
    assert run.returncode == 130
    assert pipeline.status("TASK-001")["status"] == "todo"


def runs(pipeline: PipelineFixture) -> list[int]:
    """How often each stage's agent was started."""
    return [len(pipeline.told("TASK-001", stage)) for stage in STAGES]


@pytest.mark.parametrize("limit", [15, 9], ids=["by the journal", "by the board"])
def test_a_kill_does_not_make_it_forget_what_was_sent_back(pipeline: PipelineFixture, limit: int) -> None:  # 000-24
    pipeline.honest()
    pipeline.workshop.settings(agent={"command": "worker"}, specflow={"max_send_backs": 1})
    pipeline.agent(
        before=MINDS,
        hook="[ -f {home}/go ] || { grep -q Louder {home}/prompt.*.coder.* && touch {home}/up && sleep 60; }",
    )
    pipeline.task("TASK-001")
    killed(pipeline, "up")
    (pipeline.home / "go").touch()
    flow = {"max_send_backs": 1, "coder": {"max_iterations": limit}}
    pipeline.workshop.settings(agent={"command": "worker"}, specflow=flow)
    done = pipeline.execute("--resume")
    assert done.returncode == 1
    assert "reviewer sent it back more than 1 times: Louder." in done.stdout
    assert runs(pipeline)[:2] == [3, 2]  # the second was cut short
    done = pipeline.execute()  # a new try may be sent back anew
    assert "reviewer sent it back more than 1 times: Louder." in done.stdout
    assert runs(pipeline)[:2] == [4, 4]


def at_landing(pipeline: PipelineFixture) -> str:
    """A command for qa that waits on the merged tree, the first time."""
    home = pipeline.home
    waits = f"[ -f {home}/go ] || {{ touch {home}/up; sleep 60; }}; echo x >> {home}/rechecked"
    return f"case $PWD in */.landing) {waits};; esac; test -f TASK-001.txt"


@pytest.mark.parametrize("method", ["external", "multi_stage"])
def test_what_qa_has_passed_goes_straight_to_landing(pipeline: PipelineFixture, method: str) -> None:  # 000-24
    pipeline.honest()
    command = at_landing(pipeline)
    check = {"name": "there", "method": "external", "config": {"command": command}}
    said = {"name": "said", "method": "semantic", "config": {"check_for": ["says done"]}}
    config = {"command": command} if method == "external" else {"stages": [check, said]}
    pipeline.task("TASK-001", "--qa-verify", method, "--qa-verify-config", json.dumps(config))
    killed(pipeline, "up")
    (pipeline.home / "go").touch()
    done = pipeline.execute("--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert runs(pipeline) == [1, 1, 1, 1]
    assert (pipeline.home / "rechecked").read_text() == "x\n"  # the merged tree is looked at all the same
    assert (
        pipeline.status("TASK-001")["metadata"]["landed"]["commit"] == pipeline.workshop.git("rev-parse", "HEAD")[:-1]
    )


def test_a_tree_that_changed_since_qa_looked_is_looked_at_again(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    pipeline.task("TASK-001", "--qa-verify-cmd", at_landing(pipeline))
    killed(pipeline, "up")
    (pipeline.home / "go").touch()
    (pipeline.repo / ".ralph/worktrees/TASK-001/more.txt").write_text("someone else's\n")
    done = pipeline.execute("--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert runs(pipeline) == [1, 1, 1, 2]
    assert "The tree has changed since it was verified (more.txt)." in pipeline.told("TASK-001", "qa")[1]


def test_changes_a_reviewer_wanted_survive_a_signal(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    once = "if [ $RALPH_STAGE = reviewer ] && [ ! -f {home}/up ]; then touch {home}/up; sleep 1; else false; fi && "
    pipeline.agent(before=once + MINDS.partition(" && ")[2])
    pipeline.task("TASK-001")
    ended_gently(pipeline, "up")
    assert pipeline.execute("--resume").returncode == 0
    assert runs(pipeline) == [2, 2, 1, 1]
    assert "Louder." in pipeline.told("TASK-001", "coder")[1]


def test_what_an_earlier_run_had_checked_is_checked_again(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    pipeline.task("TASK-001", "--qa-verify-cmd", at_landing(pipeline))
    killed(pipeline, "up")
    (pipeline.home / "go").touch()
    (pipeline.repo / ".ralph/worktrees/TASK-001/TASK-001.txt").write_text("broken\n")
    done = pipeline.execute("--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert runs(pipeline) == [2, 2, 2, 2]  # back to the coder, not to qa
    assert "Its check had passed before, and fails now" in pipeline.told("TASK-001", "coder")[1]
    assert (pipeline.repo / "TASK-001.txt").read_text() == "done\n"


def test_a_verification_that_was_cut_off_is_made_up_for(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    waits = f"[ -f {pipeline.home}/go ] || {{ touch {pipeline.home}/up; sleep 60; }}"
    slow = f"case $PWD in */worktrees/*) {waits};; esac; grep -q done TASK-001.txt"
    pipeline.task("TASK-001", "--coder-verify-cmd", slow)
    killed(pipeline, "up")
    (logged,) = pipeline.shown("TASK-001")["iterations"]
    assert (logged["promise_found"], logged["reason"]) == (True, "Its promise has not been looked at")
    (pipeline.home / "go").touch()
    done = pipeline.execute("--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert runs(pipeline) == [1, 1, 1, 1]
    assert len(pipeline.shown("TASK-001")["iterations"]) == 4


def test_what_was_in_the_way_is_gone_and_it_lands_without_qa(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    pipeline.task("TASK-001")
    mine = pipeline.repo / "TASK-001.txt"
    mine.write_text("mine\n")
    done = pipeline.execute()
    assert done.returncode == 3, done.stdout + done.stderr
    assert mine.read_text() == "mine\n"
    mine.unlink()
    assert pipeline.workshop.ralph("task", "edit", "TASK-001", "--status", "todo").returncode == 0
    done = pipeline.execute()
    assert done.returncode == 0, done.stdout + done.stderr
    assert runs(pipeline) == [1, 1, 1, 1]
    assert mine.read_text() == "done\n"


def test_a_work_tree_someone_deleted_is_made_anew_from_the_branch(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    pipeline.agent(before="[ $RALPH_STAGE = coder ] || [ -f {home}/go ] || { touch {home}/up; sleep 60; }")
    pipeline.task("TASK-001")
    killed(pipeline, "up")
    (pipeline.home / "go").touch()
    shutil.rmtree(pipeline.repo / ".ralph/worktrees/TASK-001")
    done = pipeline.execute("--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert runs(pipeline) == [1, 2, 1, 1]
    assert (pipeline.repo / "TASK-001.txt").exists()


@pytest.mark.parametrize(("words", "times"), [(["--resume"], [1, 2, 0, 0]), ([], [2, 2, 0, 0])])
def test_some_stages_are_gone_on_with_where_that_is_asked_for(
    pipeline: PipelineFixture, words: list[str], times: list[int]
) -> None:
    pipeline.honest()
    pipeline.agent(before="[ $RALPH_STAGE = coder ] || [ -f {home}/go ] || { touch {home}/up; sleep 1; exit; }")
    pipeline.task("TASK-001")
    ended_gently(pipeline, "up", "--stage", "coder,reviewer")
    (pipeline.home / "go").touch()
    assert pipeline.execute("--stage", "coder,reviewer", *words).returncode == 0
    assert runs(pipeline) == times
