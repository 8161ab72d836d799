"""What changes under a run's feet is found, at once and before the next run."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import json
from msgspec.structs import replace

from ralph.app.paths import Paths, find_paths
from ralph.app.runs.settings_watch import (
    SettingsWatch,
    WatchRecord,
    find_pending_changes,
    forget_pending_changes,
)

GUARDED = '{"guardrails": ["make test"]}'
OPEN = "{}"


@pytest.fixture
def place(tmp_path: Path) -> Paths:
    root = tmp_path / "repo"
    (root / ".git/hooks").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/config").write_text("[core]\n\tbare = false\n")
    (root / ".ralph").mkdir()
    (root / ".ralph/settings.json").write_text(GUARDED)
    return find_paths(str(root))


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "state")}


def settings(place: Paths) -> Path:
    return Path(place.folder, ".ralph/settings.json")


def end_process_of(variables: dict[str, str]) -> None:
    """The record is that of a process that is gone."""
    for path in Path(variables["XDG_STATE_HOME"]).rglob("watched/*/*.json"):
        record = json.decode(path.read_bytes(), type=WatchRecord)
        path.write_bytes(json.encode(replace(record, ticks=1)))


def test_a_change_is_told_once_and_says_what_got_weaker(place: Paths, variables: dict[str, str]) -> None:
    watch = SettingsWatch(place, variables, run="r1")
    assert watch.find_changes() == []
    settings(place).write_text(OPEN)
    named, weaker = watch.find_changes()
    assert named == "changed while an agent was running: .ralph/settings.json (changed)"
    assert "guardrail removed or changed: make test" in weaker
    assert watch.find_changes() == []


def write_prompt(place: Paths) -> None:
    Path(place.folder, "PROMPT.md").write_text("another")


def write_hook(place: Paths) -> None:
    Path(place.root, ".git/hooks/pre-push").write_text("curl x\n")


def write_config(place: Paths) -> None:
    with Path(place.root, ".git/config").open("a") as file:
        file.write('[filter "x"]\n\tclean = rm\n')


def write_claude(place: Paths) -> None:
    Path(place.root, ".claude").mkdir()
    Path(place.root, ".claude/settings.json").write_text("{}")


def write_role_prompt(place: Paths) -> None:
    Path(place.folder, ".ralph/coder.md").write_text("Be lazy")


def write_binary(place: Paths) -> None:
    settings(place).write_bytes(b"\xff\x00")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (write_prompt, "PROMPT.md"),
        (write_hook, ".git/hooks/pre-push"),
        (write_config, ".git/config"),
        (write_claude, ".claude/settings.json"),
        (write_role_prompt, ".ralph/coder.md"),
        (write_binary, ".ralph/settings.json"),
    ],
)
def test_whatever_decides_how_runs_are_judged_is_watched(
    place: Paths, variables: dict[str, str], change: Callable[[Paths], None], name: str
) -> None:
    watch = SettingsWatch(place, variables, run="r1", prompt_file="PROMPT.md")
    change(place)
    assert name in watch.find_changes()[0]


def test_branches_logs_and_samples_are_nobodys_business(place: Paths, variables: dict[str, str]) -> None:
    watch = SettingsWatch(place, variables, run="r1")
    with Path(place.root, ".git/config").open("a") as file:
        file.write('[branch "x"]\n\tremote = origin\n')
    Path(place.folder, ".ralph/guardrail_001_x.log").write_text("x")
    Path(place.root, ".git/hooks/pre-push.sample").write_text("x")
    assert watch.find_changes() == []


def test_what_a_run_leaves_changed_is_pending_for_the_next(place: Paths, variables: dict[str, str]) -> None:
    watch = SettingsWatch(place, variables, run="r1")
    settings(place).write_text(OPEN)
    watch.close()
    assert find_pending_changes(place, variables).files == (), "the process still lives: another run of it may go on"
    end_process_of(variables)
    pending = find_pending_changes(place, variables)
    assert pending.runs == ("r1",)
    assert pending.weakenings == ("guardrail removed or changed: make test",)
    assert "-" + GUARDED in pending.files[0].diff
    forget_pending_changes(place, variables, pending)
    assert find_pending_changes(place, variables).files == ()


def test_a_run_that_was_killed_is_asked_about_too(place: Paths, variables: dict[str, str]) -> None:
    SettingsWatch(place, variables, run="r1")
    settings(place).write_text(OPEN)
    end_process_of(variables)
    assert find_pending_changes(place, variables).weakenings


def test_what_was_put_back_is_forgotten(place: Paths, variables: dict[str, str]) -> None:
    watch = SettingsWatch(place, variables, run="r1")
    settings(place).write_text(OPEN)
    watch.close()
    end_process_of(variables)
    settings(place).write_text(GUARDED)
    assert find_pending_changes(place, variables).files == ()
    settings(place).write_text(OPEN)
    assert find_pending_changes(place, variables).files == ()


def test_a_run_without_changes_leaves_nothing(place: Paths, variables: dict[str, str]) -> None:
    SettingsWatch(place, variables, run="r1").close()
    assert not [*Path(variables["XDG_STATE_HOME"]).rglob("*.json")]


def test_records_are_for_the_users_eyes_and_their_loss_is_no_harm(place: Paths, variables: dict[str, str]) -> None:
    watch = SettingsWatch(place, variables, run="r1")
    (path,) = Path(variables["XDG_STATE_HOME"]).rglob("*.json")
    assert oct(path.stat().st_mode)[-3:] == "600"
    path.write_text("{")
    assert find_pending_changes(place, variables).files == ()
    watch.close()


def test_where_there_is_no_home_the_repository_keeps_them(place: Paths) -> None:
    SettingsWatch(place, {}, run="r1")
    assert os.listdir(os.path.join(place.state, "watched"))
