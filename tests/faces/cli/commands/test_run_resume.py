"""What a run goes on with, and prompts that are no files."""

import os
import signal
from pathlib import Path

import pytest

from support.processes import wait_until
from support.workshop import ProjectFixture, make_result_command

WORKING = make_result_command("still working", cost=0.05)


def killed(workshop: ProjectFixture, *words: str) -> None:
    """A life that ends without a word, in its first agent run."""
    workshop.agent(f"touch up; sleep 60; {WORKING}")
    with workshop.start("run", *words) as run:
        assert wait_until((workshop.repo / "up").exists)
        run.kill()
        run.communicate()
    workshop.agent(WORKING)


def test_a_dry_run_of_a_resumed_run_runs_nothing(workshop: ProjectFixture) -> None:
    workshop.agent(WORKING)
    workshop.ralph("run", "-p", "the prompt", "-m", "1")
    done = workshop.ralph("run", "--resume", "--dry-run", "-m", "4", "--budget", "2")
    assert (done.returncode, workshop.calls) == (0, 1)
    assert f"Resumes:     {workshop.status()['id']}, after 1 iteration\n" in done.stdout
    assert "  | the prompt\n" in done.stdout
    assert "Limits:      4 iterations, $2.00\nNothing was run.\n" in done.stdout


def test_what_a_resumed_run_cannot_do_is_refused(workshop: ProjectFixture) -> None:
    workshop.agent(WORKING)
    workshop.ralph("run", "-p", "x", "-m", "1")
    done = workshop.ralph("run", "--resume", "--baseline", "-m", "2")
    assert (done.returncode, workshop.calls) == (2, 1)
    assert "--baseline cannot be changed" in done.stderr


def test_a_resumed_run_takes_todays_agent_and_keeps_its_guardrails(workshop: ProjectFixture) -> None:  # C31
    workshop.agent(WORKING)
    old = {"command": "claude", "flags": ["--door"], "environment": {"DOOR": "shut"}}
    workshop.settings(agent=old, guardrails=["touch began"])
    workshop.ralph("run", "-p", "the prompt", "-m", "1")
    (workshop.repo / "began").unlink()
    workshop.settings(agent={**old, "flags": ["--gate"], "environment": {"DOOR": "open"}}, guardrails=["touch other"])
    done = workshop.ralph("run", "--resume", "-m", "2")
    assert [word for word in workshop.argv(2) if word in ("--door", "--gate")] == ["--gate"]
    assert "DOOR=open\n" in (workshop.home / "env.2").read_text()
    assert "from the current settings: flags --gate (was --door), environment" in done.stdout
    assert "the run keeps the guardrails it started with" in done.stdout
    assert ((workshop.repo / "began").exists(), (workshop.repo / "other").exists()) == (True, False)
    assert "the prompt" in workshop.prompt(2)


def test_a_run_can_be_resumed_with_another_agent_and_model(workshop: ProjectFixture) -> None:  # C31
    workshop.agent(WORKING)
    workshop.ralph("run", "-p", "the prompt", "-m", "1")
    workshop.agent("printf '%s\\n' '<response>DONE</response>'", name="helper")
    done = workshop.ralph("run", "--resume", "--agent", "helper", "-m", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "from the current settings: agent helper (was claude)" in done.stdout


def test_limits_given_on_resuming_hold_for_the_life_after_it(workshop: ProjectFixture) -> None:  # C31
    workshop.agent(WORKING)
    workshop.ralph("run", "-p", "x", "-m", "1")
    killed(workshop, "--resume", "-m", "20", "--budget", "0.2")
    done = workshop.ralph("run", "--resume")
    assert done.returncode == 1
    assert "Iteration 2/20" in done.stdout
    assert "budget" in done.stdout.splitlines()[-1]
    assert "$0.20" in done.stdout.splitlines()[-1]
    again = workshop.ralph("run", "--resume", "--budget", "0.3")
    assert "Iteration 5/20" in again.stdout


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_a_prompt_from_a_pipe_is_read_once(workshop: ProjectFixture, name: str) -> None:
    workshop.agent(WORKING)
    workshop.ralph("run", "--no-tell-completion", "-f", name, "-m", "2", stdin="from the pipe")
    assert [workshop.prompt(number) for number in (1, 2)] == ["from the pipe"] * 2


def test_so_is_one_from_a_named_pipe(workshop: ProjectFixture) -> None:
    os.mkfifo(workshop.repo / "p")
    with workshop.start("run", "--no-tell-completion", "-f", "p", "-m", "1") as run:
        (workshop.repo / "p").write_text("from the pipe")
        run.communicate(timeout=20)
    assert workshop.prompt(1) == "from the pipe"


@pytest.mark.parametrize("trap", ["mkfifo p.md", "ln -s /dev/zero p.md", "mkdir p.md", "truncate -s 300M p.md"])
def test_an_agent_cannot_have_us_wait_for_the_next_prompt(workshop: ProjectFixture, trap: str) -> None:
    (workshop.repo / "p.md").write_text("work\n")
    workshop.agent(f"rm p.md; {trap}; {WORKING}")
    done = workshop.ralph("run", "-f", "p.md", "-m", "3", timeout=30)
    assert (done.returncode, workshop.calls) == (2, 1)
    assert "cannot read the prompt file 'p.md'" in done.stdout


def test_nor_for_the_next_text_of_a_task(workshop: ProjectFixture, tmp_path: Path) -> None:
    task = tmp_path / "root/project/task-1"
    task.mkdir(parents=True)
    (task / "TASK.md").write_text("Do it.\n")
    script = "rm $TASK_FOLDER/TASK.md; mkfifo $TASK_FOLDER/TASK.md"
    with workshop.start("supervise", str(task), "--restart-delay", "0.01", "--", "sh", "-c", script) as run:
        try:
            out, _ = run.communicate(timeout=30)
        finally:
            run.send_signal(signal.SIGKILL)
    assert run.returncode == 2
    assert "cannot read" in out


def test_who_finds_a_killed_loop_is_told_the_command_that_resumes_it(workshop: ProjectFixture) -> None:
    task = workshop.repo / "tasks/my job"
    task.mkdir(parents=True)
    (task / "TASK.md").write_text("Do it.\n")
    workshop.agent("touch up; sleep 60")
    with workshop.start("supervise", str(task)) as run:
        assert wait_until((workshop.repo / "up").exists, 20)
        run.kill()
        run.communicate()
    command = "ralph supervise 'tasks/my job'"
    assert workshop.call("status").endswith(f"  → Resume with: {command}\n")
    assert command in workshop.call("report", "--short")
    for words in (("resume",), ("run", "--resume"), ("run", "--resume", workshop.status()["id"])):
        refused = workshop.ralph(*words)
        assert (refused.returncode, command in refused.stderr) == (2, True), refused.stderr


def test_what_an_agent_reported_and_a_killed_run_had_not_read_is_not_lost(workshop: ProjectFixture) -> None:
    pid = workshop.home / "pid"
    stopped = f"while [ ! -s {pid} ]; do sleep 0.01; done; kill -STOP $(cat {pid})"
    report = make_result_command("half", 0.25)
    workshop.agent(
        f"{stopped}; {report}; touch {workshop.home}/said; sleep 60",
        make_result_command("<response>DONE</response>", 0.5),
    )
    with workshop.start("run", "-p", "x") as run:
        pid.write_text(f"{run.pid}\n")
        assert wait_until((workshop.home / "said").exists)
        run.kill()
    assert workshop.ralph("run", "--resume").returncode == 0
    assert (workshop.calls, workshop.status()["costUsd"]) == (2, 0.75)
