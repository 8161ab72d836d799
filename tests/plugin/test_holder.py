"""A marker whose loop was killed: hooks are silent then, and only then."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ralph.process.identity import ProcessIdentity, identify_process, read_pid_namespace
from support.hooks import PLUGIN_FOLDER, HookResult, load_sample_event, run_hook
from support.processes import wait_until
from support.stories import StoryFixture, make_story
from support.workshop import ProjectFixture


def marker_of(process: ProcessIdentity, **more: Any) -> str:
    told = {"pid": process.pid, "ticks": process.ticks, "boot": process.boot, "pidNamespace": read_pid_namespace()}
    return json.dumps({**told, "mode": "direct", **more})


def guard_says(project: Path, *before: str) -> str:
    """The guard, asked about what it never allows."""
    event = load_sample_event("PreToolUse", tool_name="Bash", tool_input={"command": "rm -rf /"}, cwd=str(project))
    if not before:
        return run_hook("pretooluse_guard.py", event, project.parent).reason
    words = [*before, sys.executable, "-ESs", str(PLUGIN_FOLDER / "hooks" / "scripts" / "pretooluse_guard.py")]
    done = subprocess.run(
        words, input=json.dumps(event), cwd=project, capture_output=True, text=True, timeout=30, check=False
    )
    return HookResult(done).reason


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "app"
    (root / ".ralph").mkdir(parents=True)
    return root


@pytest.fixture
def holder() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that stands for a loop."""
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def identity(process: "subprocess.Popen[bytes]") -> ProcessIdentity:
    found = identify_process(process.pid)
    assert found is not None
    return found


def test_a_living_loop_is_believed_and_a_killed_one_is_not(
    project: Path, holder: "subprocess.Popen[bytes]"
) -> None:  # 004-14, 004-32
    (project / ".ralph-active").write_text(marker_of(identity(holder)))
    assert guard_says(project)
    holder.kill()
    assert wait_until(lambda: not guard_says(project))  # killed, not buried yet
    holder.wait()
    assert guard_says(project) == ""


def test_a_number_that_is_someone_elses_by_now_is_no_loop(project: Path, holder: "subprocess.Popen[bytes]") -> None:
    found = identity(holder)
    (project / ".ralph-active").write_text(marker_of(ProcessIdentity(found.pid, found.ticks - 1, found.boot)))
    assert guard_says(project) == ""


@pytest.mark.parametrize(
    "doubt",
    [
        {"boot": "another machine, or a reboot"},
        {"boot": ""},
        {"pidNamespace": 4026531999},
        {"pidNamespace": None},
        {"ticks": None},
        {"ticks": "5"},
        {"pid": True},
        {"pid": -1},
        {"pid": 10**30},
    ],
)
def test_in_doubt_a_marker_counts(project: Path, holder: "subprocess.Popen[bytes]", doubt: dict[str, Any]) -> None:
    text = marker_of(identity(holder), **doubt)
    holder.kill()
    holder.wait()
    (project / ".ralph-active").write_text(text)
    assert guard_says(project)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 4190000}', "[" * 100_000])
def test_a_marker_that_tells_nothing_of_its_holder_counts(project: Path, text: str) -> None:  # C23
    (project / ".ralph-active").write_text(text)
    assert guard_says(project)


def test_a_dead_marker_hides_no_living_one(project: Path, holder: "subprocess.Popen[bytes]") -> None:  # C23
    found = identity(holder)
    (project / ".ralph-active").write_text(marker_of(ProcessIdentity(found.pid, found.ticks - 1, found.boot)))
    (project / ".ralph" / ".ralph-active").write_text(marker_of(found))
    assert guard_says(project)


def test_a_pipe_in_its_place_has_nobody_wait(project: Path) -> None:
    os.mkfifo(project / ".ralph-active")
    assert guard_says(project)


def test_seen_from_another_pid_namespace_a_loop_counts(project: Path, holder: "subprocess.Popen[bytes]") -> None:
    inside = ["unshare", "--pid", "--fork", "--mount-proc"]
    inside += [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no PID namespace can be made here")
    (project / ".ralph-active").write_text(marker_of(identity(holder)))
    assert guard_says(project, *inside)  # the pid is not to be seen there, and yet the loop lives


def test_after_kill_9_the_users_own_session_is_left_alone(workshop: ProjectFixture) -> None:  # 004-14, 004-32
    stories = StoryFixture(workshop)
    stories.plan(make_story("US-001"))
    stories.play([{"bash": "touch up; sleep 60"}])
    asked = load_sample_event("Stop", cwd=str(stories.repo), session_id="mine", stop_hook_active=False)
    with workshop.start("story", "run") as run:
        assert wait_until((stories.repo / "up").exists)
        assert "uncommitted" in run_hook("stop_loop_reminder.py", asked, workshop.home).reason
        run.send_signal(signal.SIGKILL)
        run.communicate()
    assert (stories.repo / ".ralph-active").exists()
    ran = run_hook("stop_loop_reminder.py", asked, workshop.home)
    assert (ran.out, ran.err) == ("", "")
