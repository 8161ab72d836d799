"""A loop that gets nowhere ends as stuck at the fifth iteration: all four of them, by real runs."""

import pytest

from support.pipeline import PipelineFixture
from support.processes import wait_until
from support.stories import StoryFixture, make_story, write_plan
from support.workshop import ProjectFixture, make_result_command

TALK = make_result_command("I renamed the parser once more.")
NOISE = f"date +%N > noise.txt; {TALK}"


def test_run_is_stuck_at_the_same_failure_however_the_files_change(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=['echo "1 failed in 0.$(date +%N)s"; false'])
    workshop.agent(NOISE)
    done = workshop.ralph("run", "-p", "x")
    assert (done.returncode, workshop.calls) == (1, 5)
    assert "Stuck: the last 5 iterations made no progress" in done.stdout
    told = ["NO PROGRESS" in workshop.prompt(number) for number in range(1, 6)]
    assert told == [False, False, True, True, True]
    assert "- iteration 2: I renamed the parser once more." in workshop.prompt(3)
    again = workshop.ralph("run", "--resume", "-m", "6")  # who resumes it wants another try
    assert (again.returncode, workshop.calls) == (1, 6)


def test_run_is_stuck_however_many_empty_commits_there_are(workshop: ProjectFixture) -> None:
    workshop.git("commit", "-q", "--allow-empty", "-m", "Start")
    tool = '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Bash","input":{}}]}}'
    workshop.agent(f"git commit -q --allow-empty -m \"$(date +%N)\"; echo '{tool}'; {TALK}")
    done = workshop.ralph("run", "-p", "x")
    assert (done.returncode, workshop.calls) == (1, 5), done.stdout


def test_supervise_is_stuck_though_its_own_records_change(workshop: ProjectFixture) -> None:
    task = workshop.repo / "task"
    task.mkdir()
    (task / "TASK.md").write_text("Do it.\n")
    workshop.agent(TALK)
    done = workshop.ralph("supervise", str(task), "--restart-delay", "0.01")
    assert (done.returncode, workshop.calls) == (1, 5)
    assert "Stuck: the last 5 iterations made no progress: no file changed" in done.stdout
    assert "NO PROGRESS" in workshop.prompt(5)
    assert "DONE did not count" not in workshop.prompt(5)


@pytest.mark.parametrize("words", [("supervise", "task", "--restart-delay", "0.01"), ("story", "run")])
def test_supervise_and_story_go_on_counting_after_a_kill(workshop: ProjectFixture, words: tuple[str, ...]) -> None:
    StoryFixture(workshop).plan(make_story("US-001"))
    (workshop.repo / "task").mkdir()
    (workshop.repo / "task/TASK.md").write_text("Do it.\n")
    workshop.agent(TALK, TALK, TALK, "sleep 60")
    with workshop.start(*words) as run:
        assert wait_until((workshop.home / "argv.4").exists)
        run.kill()
    workshop.agent(TALK)
    done = workshop.ralph(*words)
    assert (done.returncode, workshop.calls) == (1, 6), done.stdout
    assert "Stuck" in done.stdout


def test_story_is_stuck_whatever_is_written_and_not_committed(workshop: ProjectFixture) -> None:
    StoryFixture(workshop)
    write_plan(workshop.repo, make_story("US-001"))
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Plan")
    workshop.agent(NOISE)
    done = workshop.ralph("story", "run")
    assert (done.returncode, workshop.calls) == (1, 5)
    assert "Stuck: implement: the last 5 iterations made no progress: no story moved on" in done.stdout


def test_story_is_stuck_however_many_empty_commits_there_are(workshop: ProjectFixture) -> None:
    StoryFixture(workshop).plan(make_story("US-001"))
    workshop.agent(f'git commit -q --allow-empty -m "feat: [US-001] - $(date +%N)"; {TALK}')
    done = workshop.ralph("story", "run")
    assert (done.returncode, workshop.calls) == (1, 5)
    assert "Stuck: implement: the last 5 iterations made no progress: no story moved on" in done.stdout


@pytest.mark.parametrize("is_killed", [False, True])
def test_execute_is_stuck_also_when_it_was_killed_between(pipeline: PipelineFixture, is_killed: bool) -> None:
    workshop = pipeline.workshop
    workshop.environment["RALPH_AGENT_COMMAND"] = "claude"
    pipeline.task("TASK-001")
    if is_killed:
        workshop.agent(TALK, TALK, TALK, "sleep 60")
        with workshop.start("execute") as run:
            assert wait_until((workshop.home / "argv.4").exists)
            run.kill()
    workshop.agent(TALK)
    done = workshop.ralph("execute", "--resume", timeout=60)
    assert done.returncode == 1
    assert "coder: the last 5 iterations made no progress: no file changed; No completion promise found" in done.stdout


def test_run_goes_on_with_a_stronger_model_that_settings_name(workshop: ProjectFixture) -> None:
    workshop.settings(escalate={"model": "opus"}, stuck={"stopAfter": 4})
    workshop.agent(TALK)
    done = workshop.ralph("run", "-p", "x")
    assert (done.returncode, workshop.calls) == (1, 4)
    assert ["opus" in workshop.argv(number) for number in range(1, 5)] == [False, False, False, True]
    assert "the agent for stuck runs takes over" in done.stdout
