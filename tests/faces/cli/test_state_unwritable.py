"""Every command that keeps something, where nothing can be kept."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.workshop import ProjectFixture

TASK = ["task", "create", "T-1", "s", "Title", "--outcome", "o", "--acceptance", "a"]
COMMANDS = {
    "run": ["run", "-p", "x"],
    "supervise": ["supervise", "task", "--agent", "claude"],
    "story run": ["story", "run", "--agent", "claude"],
    "execute": ["execute", "--agent", "claude"],
    "task create": TASK,
    "spec create": ["spec", "create", "s", "--title", "S"],
}
LOOPS = ["run", "supervise", "story run", "execute"] if Path("/proc/self").exists() else []


@pytest.fixture
def ready(workshop: ProjectFixture) -> ProjectFixture:
    """A repository in which every command would work."""
    (workshop.repo / "task").mkdir()
    (workshop.repo / "task/TASK.md").write_text("do it")
    assert workshop.ralph("story", "init", "--name", "s").returncode == 0
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "one")
    return workshop


def a_file(state: Path) -> str:
    state.write_text("")
    return f"{state} is not a folder, and ralph needs one there"


def a_closed_folder(state: Path) -> str:
    """One that takes nothing, not even from root."""
    state.mkdir()
    (state / "locks").symlink_to("/proc/self")
    return f"cannot write to {state}/locks/"


@pytest.mark.parametrize(
    ("name", "spoiled"), [*((name, a_file) for name in COMMANDS), *((name, a_closed_folder) for name in LOOPS)]
)
def test_it_is_one_clear_error_that_names_the_place(
    ready: ProjectFixture, name: str, spoiled: Callable[[Path], str]
) -> None:
    says = spoiled(ready.repo / ".git/ralph")
    done = ready.ralph(*COMMANDS[name])
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith(f"ralph: {says}")
    assert "\n  → m" in done.stderr
    assert "bug in ralph" not in done.stderr
    assert ready.calls == 0


def test_notes_that_cannot_be_made(ready: ProjectFixture) -> None:
    (ready.repo / ".ralph").write_text("")
    done = ready.ralph("run", "-p", "x", "--json")
    assert done.returncode == 2
    told = json.loads(done.stderr)
    assert (told["code"], told["message"]) == (
        "environment",
        f"{ready.repo}/.ralph is not a folder, and ralph needs one there",
    )
