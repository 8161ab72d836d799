"""Runs and tasks that people steer while they go on, with the program itself."""

import json
import shlex

import pytest

from ralph.model.errors import InsideAgent, RalphError, UsageError
from support.pipeline import PipelineFixture
from support.processes import wait_until
from support.stories import SUBMIT_FIELDS, StoryFixture, build_work_command, make_approval, make_story
from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

WORKING = make_result_command("still working")
DONE = make_result_command("<response>DONE</response>")
ALEX = {"RALPH_USER": "alex"}


def read_doing(workshop: ProjectFixture, task: str) -> list[str]:
    runs = json.loads(workshop.call("status", "--json"))["runs"]
    return [run["doing"] for run in runs if run["task"] == task]


def test_a_pause_outlives_a_kill_and_a_note_stands_in_one_prompt(workshop: ProjectFixture) -> None:
    workshop.environment |= ALEX
    workshop.agent(f"touch up; while [ ! -f go ]; do sleep 0.1; done; {WORKING}", WORKING, DONE)
    with workshop.start("run", "-p", "x", "-m", "9") as run:
        assert wait_until((workshop.repo / "up").exists, 20)
        run_id = workshop.status()["id"]
        assert f"Paused {run_id}: the current agent finishes" in workshop.call("pause")
        workshop.call("pause")  # twice is once
        (workshop.repo / "go").touch()
        assert wait_until(lambda: workshop.status()["doing"] == "pause", 20)
        assert workshop.status()["pausedBy"] == "alex"
        workshop.call("note", "Use tabs")
        run.kill()
        run.communicate()
    with workshop.start("run", "--resume", run_id) as run:  # as a service manager would
        assert wait_until(lambda: workshop.status()["doing"] == "pause", 20)
        assert workshop.calls == 1
        assert f"Resumed {run_id}" in workshop.call("resume")
        out, err = run.communicate(timeout=30)
    assert run.returncode == 0, out + err
    assert "Paused by alex; resume with: ralph resume" in out
    assert ["## Note from alex\n\nUse tabs" in workshop.prompt(number) for number in (1, 2, 3)] == [False, True, False]
    assert json.loads(workshop.ralph("note", "--list", run_id, "--json").stdout)["notes"][0]["heardBy"] == run_id
    assert workshop.ralph("wait", run_id).returncode == 0


def test_a_pause_at_once_stops_the_agent_keeps_its_work_and_repeats_it(workshop: ProjectFixture) -> None:
    workshop.agent("echo half > work.txt; touch up; sleep 60", DONE)
    with workshop.start("run", "-p", "x", "--max-time", "60s") as run:
        assert wait_until((workshop.repo / "up").exists, 20)
        workshop.call("pause", "--now")
        assert wait_until(lambda: workshop.status()["doing"] == "pause", 20)
        assert workshop.ralph("wait", "--timeout", "0.1s").returncode == 124
        workshop.call("resume")
        out, err = run.communicate(timeout=30)
    assert run.returncode == 0, out + err
    assert (workshop.repo / "work.txt").read_text() == "half\n"
    assert out.count("Iteration 1/10") == 2


def test_a_question_waits_for_its_answer_and_no_agent_may_give_it(workshop: ProjectFixture) -> None:
    ralph = shlex.join(RALPH_ARGV)
    steer = f"{ralph} pause 2> refused; {ralph} note hi 2>> refused; {ralph} task answer T x 2>> refused"
    workshop.agent(f"{steer}; {make_result_command('<question>Tabs or spaces?</question>')}", DONE)
    workshop.settings(notify={"command": ["sh", "-c", "cat > notice"], "on": ["question"]})
    asked = workshop.ralph("run", "-p", "x")
    run_id = workshop.status()["id"]
    assert asked.returncode == 3
    assert f"ralph answer {run_id} TEXT" in asked.stderr
    assert (workshop.repo / "refused").read_text().count("must not control runs") == 3
    assert json.loads((workshop.repo / "notice").read_text())["event"] == "question"
    assert workshop.status()["question"] == "Tabs or spaces?"
    assert "Tabs or spaces?" in workshop.call("answer")
    assert f"Answered {run_id}. Resume it with: ralph resume {run_id}" in workshop.call("answer", run_id, "Tabs")
    with pytest.raises(UsageError, match="has asked nothing"):
        workshop.call("answer", run_id, "Spaces")
    done = workshop.ralph("resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "You asked: Tabs or spaces?\n\nTabs" in workshop.prompt(2)
    with pytest.raises(RalphError, match="no agent will read a note"):
        workshop.call("note", run_id, "Too late")
    with pytest.raises(RalphError, match="has ended"):
        workshop.call("pause", run_id)
    assert workshop.ralph("resume", run_id).returncode == 2


def test_tasks_that_run_at_once_are_steered_one_by_one(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    pipeline.workshop.environment |= ALEX
    asks = "[ $RALPH_TASK$RALPH_STAGE = TASK-002coder ] && ! grep -q 'You asked' {home}/prompt.TASK-002.*"
    waits = "[ $RALPH_TASK = TASK-001 ] && { touch {home}/up; while [ ! -f {home}/go ]; do sleep 0.1; done; }"
    pipeline.agent(hook=f"{waits}", before=f"{asks} && {{ echo '<question>Red?</question>'; exit; }}")
    for name in ("TASK-001", "TASK-002", "TASK-003"):
        pipeline.task(name)
    call = pipeline.workshop.call
    call("pause", "TASK-003")
    with pipeline.workshop.start("execute", "-j", "2") as run:
        assert wait_until(lambda: pipeline.status("TASK-002")["status"] == "blocked", 30)
        assert wait_until((pipeline.home / "up").exists, 30)
        call("note", "TASK-001", "Use tabs")
        assert "`ralph execute` picks it up" in call("task", "answer", "TASK-002", "Blue")
        assert wait_until(lambda: pipeline.status("TASK-002")["status"] == "done", 30)
        call("pause", "TASK-001")
        (pipeline.home / "go").touch()
        assert wait_until(lambda: "pause" in read_doing(pipeline.workshop, "TASK-001"), 30)
        assert pipeline.told("TASK-001", "reviewer") == pipeline.told("TASK-003", "coder") == []
        call("resume", "TASK-001")
        assert wait_until(lambda: pipeline.status("TASK-001")["status"] == "done", 30)
        assert run.poll() is None  # a paused task is waited for
        call("resume")
        out, err = run.communicate(timeout=60)
    assert run.returncode == 0, out + err
    stages = ("coder", "reviewer", "tester", "qa")
    prompts = {stage: pipeline.told("TASK-001", stage) for stage in stages}
    assert [stage for stage in stages if any("Note from alex\n\nUse tabs" in text for text in prompts[stage])] == [
        "reviewer"
    ]
    assert sum("Use tabs" in path.read_text() for path in pipeline.home.glob("prompt.*")) == 1
    assert "You asked: Red?\n\nBlue" in pipeline.told("TASK-002", "coder")[1]


def test_a_whole_execute_ends_at_once_and_its_tasks_can_be_resumed(pipeline: PipelineFixture) -> None:
    pipeline.agent(before="touch {home}/up.$RALPH_TASK; sleep 60")
    for name in ("TASK-001", "TASK-002", "TASK-003"):
        pipeline.task(name)
    with pipeline.workshop.start("execute", "-j", "2") as run:
        assert wait_until(lambda: len([*pipeline.home.glob("up.*")]) == 2, 30)
        assert "`ralph execute` ends" in pipeline.workshop.call("cancel")
        out, err = run.communicate(timeout=30)
    assert run.returncode == 130, out + err
    assert {pipeline.status(name)["status"] for name in ("TASK-001", "TASK-002", "TASK-003")} == {"todo"}


def test_no_agent_steers(workshop: ProjectFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ralph.app.control.person.find_enclosing_run", lambda variables: "run-1")
    for words in (("pause",), ("resume",), ("note", "x"), ("answer", "x", "y")):
        with pytest.raises(InsideAgent):
            workshop.call(*words)


def test_a_story_loop_asks_and_goes_on_with_the_answer(workshop: ProjectFixture) -> None:
    stories, ask = StoryFixture(workshop), make_result_command("<question>Red?</question>")
    stories.plan(make_story("US-001"))
    work = build_work_command(workshop.home, "US-001", SUBMIT_FIELDS, "feat: [US-001] - Title of US-001")
    review = build_work_command(workshop.home, "US-001", make_approval(1), "review: [US-001] - approved")
    workshop.agent(f"echo x > half.txt; {ask}", f"{work}; {WORKING}", f"{review}; {WORKING}")
    assert workshop.ralph("story", "run", "--agent", "claude").returncode == 3
    workshop.call("note", workshop.status()["id"], "Be quick")
    assert "ralph story run" in workshop.call("answer", "Blue")
    done = workshop.ralph("story", "run", "--agent", "claude")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [("You asked: Red?\n\nBlue" in text, "Be quick" in text) for text in map(workshop.prompt, (1, 2, 3))] == [
        (False, False),
        (True, True),
        (False, False),
    ]


def test_a_supervised_loop_is_still_paused_after_a_kill(workshop: ProjectFixture) -> None:
    folder = workshop.repo / "task"
    folder.mkdir()
    (folder / "TASK.md").write_text("Do it\n")
    workshop.agent(f"touch up; {WORKING}", f"touch {folder}/DONE; {DONE}")
    with workshop.start("supervise", "task", "--restart-delay", "5") as run:
        assert wait_until((workshop.repo / "up").exists, 20)
        workshop.call("pause")
        workshop.call("note", "Use tabs")
        run.kill()
        run.communicate()
    with workshop.start("supervise", "task") as run:
        assert wait_until(lambda: workshop.status()["doing"] == "pause", 20)
        calls = workshop.calls
        workshop.call("resume")
        out, err = run.communicate(timeout=30)
    assert run.returncode == 0, out + err
    assert "Note from" in workshop.prompt(calls + 1)
