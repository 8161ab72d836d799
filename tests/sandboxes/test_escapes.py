"""Every known way out of bubblewrap, tried from inside: as root and as an ordinary user."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import pytest

import ralph
from ralph.app.paths import find_paths
from ralph.app.processes import open_short_lived_processes
from ralph.app.sandbox.opening import open_sandbox
from ralph.app.sandbox.plan import SandboxRequest
from ralph.config.schema import SandboxSettings
from ralph.model.command import Command
from support.bubblewrap import needs_bubblewrap, needs_root
from support.processes import wait_until
from support.workshop import ProjectFixture

pytestmark = [pytest.mark.sandbox, needs_bubblewrap, pytest.mark.timeout(240)]
MIN_ESCAPES = 50


def test_none_of_them_leads_out(workshop: ProjectFixture) -> None:
    done = workshop.ralph("sandbox", "test", "--kind", "bubblewrap", "--json")
    told = json.loads(done.stdout)
    assert [each["name"] for each in told["escapes"] if each["got_out"]] == []
    assert (done.returncode, len(told["escapes"]) >= MIN_ESCAPES) == (0, True)


@needs_root
def test_none_of_them_leads_out_for_an_ordinary_user() -> None:
    python = shutil.which("python3", path="/usr/bin:/bin")
    version = f"import sys; sys.exit(sys.version_info[:2] != {tuple(sys.version_info[:2])})"
    if python is None or subprocess.run([python, "-c", version], check=False).returncode:
        pytest.skip("NOT RUN: the machine's own Python is of another version, and ours is root's alone")
    user = pwd.getpwnam("nobody")
    home = Path(tempfile.mkdtemp(prefix="ralph-nobody-"))  # the folders of pytest are root's alone
    os.chown(home, user.pw_uid, user.pw_gid)
    packages = sysconfig.get_path("purelib")
    done = subprocess.run(
        [python, "-m", "ralph", "sandbox", "test", "--kind", "bubblewrap", "--json"],
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "TMPDIR": str(home),
            "PYTHONPATH": f"{Path(ralph.__file__).parents[1]}:{packages}",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        cwd=home,
        user=user.pw_uid,
        group=user.pw_gid,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.rmtree(home)
    told = json.loads(done.stdout or "{}")
    assert told, done.stderr
    assert [each["name"] for each in told["escapes"] if each["got_out"]] == []
    assert len(told["escapes"]) >= MIN_ESCAPES


def test_nothing_inside_outlives_a_killed_ralph_and_its_guardian(workshop: ProjectFixture) -> None:
    agent = workshop.repo / "agent.sh"
    agent.write_text("#!/bin/sh\n(setsid sleep 86399 &)\ntouch up\nsleep 86399\n")
    agent.chmod(0o755)
    with workshop.start("run", "-p", "x", "--agent", "./agent.sh", "--sandbox", "bubblewrap") as run:
        assert wait_until((workshop.repo / "up").exists)
        assert sleepers()
        guardians = [int(pid) for pid in Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()]
        for pid in (*guardians, run.pid):
            os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not sleepers())


def test_an_agent_that_is_stopped_has_time_to_end(workshop: ProjectFixture) -> None:
    agent = workshop.repo / "agent.sh"
    agent.write_text("#!/bin/sh\ntrap 'sleep 0.5; touch ended; exit 0' TERM\ntouch up\nsleep 86398 &\nwait\n")
    agent.chmod(0o755)
    with workshop.start("run", "-p", "x", "--agent", "./agent.sh", "--sandbox", "bubblewrap") as run:
        assert wait_until((workshop.repo / "up").exists)
        run.send_signal(signal.SIGINT)
        time.sleep(0.3)  # two at once are one to the kernel
        run.send_signal(signal.SIGINT)
        assert run.wait(20) == 130
    assert (workshop.repo / "ended").exists()
    assert not sleepers("86398")


def test_only_named_hosts_are_reached_and_only_through_the_proxy(workshop: ProjectFixture) -> None:
    import socket

    allowed, closed = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
    port, other = allowed.getsockname()[1], closed.getsockname()[1]
    del workshop.environment["RALPH_SANDBOX_KIND"]
    workshop.settings(agent="./agent.sh", sandbox={"kind": "bubblewrap", "network": [f"localhost:{port}"]})
    reach = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{}' && echo {} >> reached"
    agent = workshop.repo / "agent.sh"
    agent.write_text(
        f"#!/bin/sh\n{reach.format(port, 'allowed')}\n{reach.format(other, 'closed')}\n"
        f"ls /sys/class/net > nets; env | grep -i _proxy= | head -1 > proxy\necho '<response>DONE</response>'\n"
    )
    agent.chmod(0o755)
    done = workshop.ralph("run", "-p", "x", "-m", "1")
    assert done.returncode == 0, done.stdout
    assert (workshop.repo / "reached").read_text() == "allowed\n"
    assert "http://127.0.0.1:3128" in (workshop.repo / "proxy").read_text()


def test_a_changed_test_is_sealed_in_the_same_sandbox(workshop: ProjectFixture) -> None:
    (workshop.repo / "tests").mkdir()
    (workshop.repo / "tests/test_it.sh").write_text("exit 1\n")
    agent = workshop.repo / "agent.sh"
    agent.write_text("#!/bin/sh\necho 'exit 0' > tests/test_it.sh\necho '<response>DONE</response>'\n")
    agent.chmod(0o755)
    workshop.settings(
        agent="./agent.sh", guardrails=['test -n "$RALPH_CONTAINED" && sh tests/test_it.sh'], proofs="strict"
    )
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Begin")
    done = workshop.ralph("run", "-p", "x", "--sandbox", "bubblewrap", "-m", "1")
    assert done.returncode == 1, done.stdout
    assert "with the tests as they were" in done.stdout


def test_a_login_that_is_renewed_is_kept_and_settings_are_not_changed(workshop: ProjectFixture) -> None:
    own = workshop.home / ".claude"
    own.mkdir()
    for name in ("settings.json", ".credentials.json"):
        (own / name).write_text("before")
    variables = {**workshop.environment, "HOME": str(workshop.home)}
    request = SandboxRequest(
        run="r",
        paths=find_paths(str(workshop.repo)),
        settings=SandboxSettings(),
        adapters=("claude",),
        variables=variables,
    )
    script = (
        "cd ~/.claude && cat settings.json && for name in settings.json .credentials.json; do echo after > $name; done"
    )
    command = Command(argv=("/bin/sh", "-c", script), environment=variables, cwd=str(workshop.repo))
    with open_short_lived_processes() as processes, open_sandbox("bubblewrap", request, processes) as sandbox:
        assert processes.run(sandbox.wrap(command), len, len).code == 0
    assert (own / ".credentials.json").read_text() == "after\n"
    assert (own / "settings.json").read_text() == "before"


def sleepers(word: str = "86399") -> list[int]:
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if word in Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
                found.append(int(pid))
        except OSError:
            continue
    return found


def test_settings_that_an_agent_makes_for_the_host_are_refused(workshop: ProjectFixture) -> None:
    (workshop.repo / "a").write_text("a")
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Begin")
    agent = workshop.repo / "agent.sh"
    agent.write_text("#!/bin/sh\necho '{}' > .mcp.json; echo /tmp > .git/commondir\necho '<response>DONE</response>'\n")
    agent.chmod(0o755)
    done = workshop.ralph("run", "-p", "x", "--agent", "./agent.sh", "--sandbox", "bubblewrap", "-m", "1")
    assert done.returncode == 1, done.stdout
    assert ".mcp.json was added, and is protected" in done.stdout
    assert not (workshop.repo / ".git/commondir").exists()
