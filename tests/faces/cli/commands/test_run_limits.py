"""Usage limits of the account, as a run meets them."""

import time

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
            assert wait_until(lambda: "Waiting" in workshop.ralph("logs").stdout.rpartition("Run ")[2])
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
