"""What a client leaves behind at a service is ended by a command of its own, however the client ended."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.model.command import Command
from ralph.process.supervisor import Supervisor
from support.processes import wait_until
from support.quiet_inbox import QuietInbox

VARIABLES = {"PATH": os.environ["PATH"], "MARK": "ours"}


@pytest.fixture
def inbox() -> Iterator[QuietInbox]:
    made = QuietInbox()
    yield made
    made.close()


@pytest.fixture
def supervisor(inbox: QuietInbox) -> Iterator[Supervisor]:
    made = Supervisor(inbox)
    yield made
    made.close()


def client(script: str, cleaned: Path, timeout: float | None = None, slowly: str = "") -> Command:
    """One whose cleanup leaves a line in a file."""
    return Command(
        argv=("/bin/sh", "-c", script),
        environment=VARIABLES,
        cwd="/",
        timeout=timeout,
        cleanup=("/bin/sh", "-c", f'{slowly} echo "$MARK" >> {cleaned}'),
    )


@pytest.mark.parametrize(
    ("script", "timeout", "ending"),
    [("exit 3", None, "exited"), ("kill -KILL $$", None, "exited"), ("sleep 60", 0.05, "timed_out")],
)
def test_it_runs_once_the_client_is_gone(
    supervisor: Supervisor, tmp_path: Path, script: str, timeout: float | None, ending: str
) -> None:
    cleaned = tmp_path / "cleaned"
    assert supervisor.run(client(script, cleaned, timeout), len, len).ending == ending
    assert cleaned.read_text() == "ours\n"  # done when run() returns
    supervisor.run(Command(argv=("/bin/true",), environment={}, cwd="/"), len, len)
    assert cleaned.read_text() == "ours\n"  # and not again after the next


def test_a_client_that_never_started_leaves_nothing(supervisor: Supervisor, tmp_path: Path) -> None:
    cleaned = tmp_path / "cleaned"
    lost = Command(argv=("/no/such/client",), environment={}, cwd="/", cleanup=("/bin/touch", str(cleaned)))
    assert supervisor.run(lost, len, len).ending == "not_started"
    supervisor.run(Command(argv=("/bin/true",), environment={}, cwd="/"), len, len)
    assert not cleaned.exists()


def test_a_stop_ends_the_client_and_not_its_cleanup(supervisor: Supervisor, inbox: QuietInbox, tmp_path: Path) -> None:
    cleaned = tmp_path / "cleaned"
    threading.Timer(0.1, lambda: setattr(inbox, "grace", 0.0)).start()
    assert supervisor.run(client("sleep 60", cleaned, slowly="sleep 0.7;"), len, len).ending == "stopped"
    assert cleaned.read_text() == "ours\n"


def test_a_cleanup_that_cannot_start_holds_nobody_up(supervisor: Supervisor) -> None:
    command = Command(argv=("/bin/true",), environment={}, cwd="/", cleanup=("/no/such/client", "rm"))
    assert supervisor.run(command, len, len).code == 0


def test_it_runs_though_the_guardian_was_killed(supervisor: Supervisor, tmp_path: Path) -> None:
    cleaned = tmp_path / "cleaned"
    threading.Timer(0.1, os.kill, (supervisor.guardian_pid, signal.SIGKILL)).start()
    assert supervisor.run(client("sleep 60", cleaned), len, len).error == "its guardian was killed"
    assert cleaned.read_text() == "ours\n"


def test_it_runs_though_the_harness_was_killed(tmp_path: Path) -> None:
    cleaned = tmp_path / "cleaned"
    script = f"""
import os
from ralph.model.command import Command
from ralph.process.supervisor import Supervisor
from support.quiet_inbox import QuietInbox
command = Command(argv=("/bin/sh", "-c", "echo begun; sleep 60"), environment={{"PATH": os.environ["PATH"]}}, cwd="/",
                  cleanup=("/bin/touch", {str(cleaned)!r}))
Supervisor(QuietInbox()).run(command, lambda data: os.write(1, data), len)
"""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    harness = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=variables)
    assert harness.stdout is not None
    with harness, harness.stdout as heard:
        assert heard.readline() == b"begun\n"
        harness.kill()
    assert wait_until(cleaned.exists)
