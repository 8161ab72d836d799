"""Usage limits of the account, as a run meets them."""

import time

import pytest

from support.processes import wait_until
from support.workshop import ProjectFixture, make_result_command

LIMIT_OVER_SOON = make_result_command("limit", is_error=True, result="You've hit your usage limit, resets in 1 s")
LIMIT_OVER_LATE = make_result_command("limit", is_error=True, result="You've hit your usage limit, resets in 2 hours")


def test_a_limit_is_waited_for_and_spends_no_iteration(workshop: ProjectFixture) -> None:
    workshop.agent(LIMIT_OVER_SOON, LIMIT_OVER_SOON, make_result_command("<response>DONE</response>"))
    began = time.monotonic()
    done = workshop.ralph("run", "-p", "x", "-m", "1")
    assert (done.returncode, workshop.calls) == (0, 3)
    assert time.monotonic() - began >= 4.0
    assert "Waiting 2s, until " in done.stdout
    assert workshop.status()["iteration"] == 1
    assert " · 1 iteration · " in workshop.call("report", "--short")


def test_a_limit_that_ends_too_late_is_not_waited_for(workshop: ProjectFixture) -> None:
    workshop.agent(LIMIT_OVER_LATE)
    workshop.settings(retry={"maxWaitSeconds": 3600})
    done = workshop.ralph("run", "-p", "x")
    assert (done.returncode, workshop.calls) == (1, 1)
    assert "longer than ralph waits for a limit (1h, retry.maxWaitSeconds)" in done.stdout


def test_who_was_killed_while_waiting_for_a_limit_waits_on(workshop: ProjectFixture) -> None:
    workshop.agent(LIMIT_OVER_LATE, make_result_command("<response>DONE</response>"))
    for words in (("-p", "x"), ("--resume",)):
        with workshop.start("run", *words) as run:
            assert wait_until(lambda: " · waiting until " in workshop.call("status"), 20)
            assert workshop.status()["wakesAt"] > time.time()
            run.kill()
            run.communicate()
    assert workshop.calls == 1
    workshop.agent(make_result_command("<response>DONE</response>"), name="codex-like")
    done = workshop.ralph("run", "--resume", "--agent", str(workshop.home / "codex-like"))
    assert done.returncode == 0, done.stdout  # another agent has limits of its own


def test_supervise_waits_for_a_limit_with_a_known_end(workshop: ProjectFixture) -> None:
    task = workshop.repo / "task"
    task.mkdir()
    (task / "TASK.md").write_text("Do it.\n")
    workshop.agent(LIMIT_OVER_SOON, f"touch {task}/DONE; {make_result_command('ok')}")
    began = time.monotonic()
    done = workshop.ralph("supervise", str(task), "--restart-delay", "0.01")
    assert (done.returncode, workshop.calls) == (0, 2)
    assert time.monotonic() - began >= 1.9


def test_the_next_agent_takes_over_at_a_limit_with_its_own_flags(workshop: ProjectFixture) -> None:
    workshop.agent(LIMIT_OVER_LATE)
    second = workshop.home / "codex"
    line = '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"<response>DONE</response>"}}'
    end = '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'
    second.write_text(f"#!/bin/sh\necho \"$@\" >> {workshop.home}/codex.argv\necho '{line}'\necho '{end}'\n")
    second.chmod(0o755)
    (workshop.repo / ".ralph").mkdir()
    chain = '{"chain": ["claude", "codex", "gemini-x"], "agents": {"codex": {"model": "gpt-5"}}}'
    (workshop.repo / ".ralph/settings.json").write_text(chain)
    done = workshop.ralph("run", "-p", "x", "-m", "1")
    assert (done.returncode, workshop.calls) == (0, 1), done.stdout + done.stderr
    assert "codex takes over" in done.stdout
    assert "'gemini-x' of `agents` is not on PATH" in done.stdout
    assert "gpt-5" in (workshop.home / "codex.argv").read_text()
    (workshop.repo / ".ralph/settings.json").write_text('{"agents": ["claude", "codex"], "onLimit": "stop"}')
    assert "(onLimit: stop)" in workshop.ralph("run", "-p", "x").stdout


def test_resume_wakes_a_run_that_waits(workshop: ProjectFixture) -> None:
    workshop.agent(LIMIT_OVER_LATE, make_result_command("<response>DONE</response>"))
    with workshop.start("run", "-p", "x") as run:
        assert wait_until(lambda: " · waiting" in workshop.ralph("status").stdout)
        woken = workshop.ralph("resume")
        assert (woken.returncode, "Woke" in woken.stdout) == (0, True)
        assert run.wait(timeout=30) == 0


PLAIN_DONE = "echo '<response>DONE</response>'"
LIMITED = make_result_command("limit", 0.0, is_error=True, result="limit, resets in 1 hour", usage={})


@pytest.mark.parametrize(
    ("first", "shown"),
    [((LIMITED,), "—"), ((f"date > work; {make_result_command('more', 0.5)}", LIMITED), "$0.50+")],
)
def test_who_takes_over_and_tells_no_cost_does_not_cost_nothing(
    workshop: ProjectFixture, first: tuple[str, ...], shown: str
) -> None:
    workshop.agent(*first)
    worker = workshop.home / "worker"
    worker.write_text(f"#!/bin/sh\n{PLAIN_DONE}\n")
    worker.chmod(0o755)
    (workshop.repo / ".ralph").mkdir()
    (workshop.repo / ".ralph/settings.json").write_text('{"agents": ["claude", "worker"]}')
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0, done.stdout
    assert f" · {shown} · " in workshop.call("status")
    last = next(line for line in done.stdout.splitlines() if "✓ Completed" in line)
    assert ("$0.50+" in last, "$0.00" in last) == (shown == "$0.50+", False)
    assert "1 call reported no cost" in workshop.call("cost")


def test_costs_that_nobody_told_are_not_those_of_no_run(workshop: ProjectFixture) -> None:
    workshop.agent(PLAIN_DONE)
    assert workshop.ralph("run", "-p", "x", "--no-stream-agent-output").returncode == 0
    assert "1 call reported no cost" in workshop.call("cost")
