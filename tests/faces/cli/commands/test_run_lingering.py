"""An agent that says its last word and does not end, as a user of `ralph run` and `ralph supervise` meets it."""

import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from support.processes import find_processes_with
from support.workshop import ProjectFixture, make_result_command

DONE = make_result_command("All good.\n<response>DONE</response>")
BROKEN = make_result_command("", subtype="error_during_execution", is_error=True, errors=["it broke"])
IMPATIENT = "import ralph.engine.agent_run as c; c.MAX_LINGER_SECONDS = {}; from ralph.__main__ import entry; entry()"
TOLD = "the agent gave its final answer but did not exit: stopped after 1s of silence"


def ralph(workshop: ProjectFixture, *words: str, linger: float = 1.0) -> subprocess.CompletedProcess[str]:
    """The program, with less patience."""
    return subprocess.run(
        [sys.executable, "-c", IMPATIENT.format(linger), *words],
        cwd=workshop.repo,
        env=workshop.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_its_success_holds_and_the_user_is_told(workshop: ProjectFixture) -> None:
    token = uuid.uuid4().hex
    workshop.agent(f"{DONE}; sh -c 'sleep 60; :' {token}")
    began = time.monotonic()
    done = ralph(workshop, "run", "-p", "x")
    assert done.returncode == 0, done.stdout
    assert time.monotonic() - began < 10
    assert done.stdout.count(TOLD) == 1
    assert "Completed: agent claimed <response>DONE</response>" in done.stdout
    assert workshop.calls == 1
    assert not find_processes_with(token)


def test_its_error_is_an_error(workshop: ProjectFixture) -> None:
    workshop.agent(f"{BROKEN}; sleep 60", DONE)
    done = ralph(workshop, "run", "-p", "x")
    assert done.returncode == 0, done.stdout
    assert workshop.calls == 2
    assert TOLD in done.stdout
    assert "The agent ended with an error: it broke." in done.stdout


def test_who_goes_on_and_ends_by_itself_is_left_alone(workshop: ProjectFixture) -> None:
    task = """printf '%s\\n' '{"type":"system","subtype":"task_updated"}'"""
    workshop.agent(f"{make_result_command('not yet')}; for i in 1 2 3 4 5 6; do sleep 0.4; {task}; done; {DONE}")
    done = ralph(workshop, "run", "-p", "x")
    assert done.returncode == 0, done.stdout
    assert "last word" not in done.stdout
    assert workshop.calls == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (f"""printf '%s\\n' '{{"type":"system","subtype":"init"}}'; sleep 1.5; {DONE}""", ()),
        ("echo '<response>DONE</response>'; sleep 1.5", ("--no-stream-agent-output",)),
    ],
)
def test_who_has_not_said_its_last_word_may_be_silent(
    workshop: ProjectFixture, answer: str, words: tuple[str, ...]
) -> None:
    workshop.agent(answer)
    done = ralph(workshop, "run", "-p", "x", *words, linger=0.5)
    assert done.returncode == 0, done.stdout
    assert "last word" not in done.stdout


def test_a_supervised_one_is_a_completed_attempt(workshop: ProjectFixture) -> None:
    task: Path = workshop.repo / "proj" / "task"
    task.mkdir(parents=True)
    (task / "TASK.md").write_text("Do it.\n")
    workshop.agent(f"touch $TASK_FOLDER/DONE; {DONE}; sleep 60")
    workshop.settings()
    done = ralph(workshop, "supervise", str(task))
    assert done.returncode == 0, done.stdout
    assert TOLD in done.stdout
    (info,) = task.glob("runs/*/run-info.yaml")
    assert 'exit_code: 0\nstatus: "completed"' in info.read_text()
