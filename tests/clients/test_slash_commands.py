"""The slash commands in the real Claude Code, as `ralph plugin install` and `--plugin-dir` give them to it."""

import json
from pathlib import Path

import pytest

from support.client_room import ClientFixture

PLUGIN = Path(__file__).parents[2] / "plugins" / "ralph"
PLAN = "# Plan a feature for a Ralph loop"
STATUS = "Tell the user in a few lines how the Ralph loop of this project is doing."
TASKS = "Read the specification (SPEC-1; ask if it is not clear which one)"
FROM_PLUGIN = ("--plugin-dir", str(PLUGIN))

claude = pytest.mark.parametrize(
    "room",
    [
        pytest.param("claude", marks=pytest.mark.clients),
        pytest.param("claude-newest", marks=pytest.mark.clients_slow),
    ],
    indirect=True,
)
pytestmark = pytest.mark.timeout(180)


def told(room: ClientFixture, prompt: str, *flags: str) -> str:
    """What the model is asked when this is the whole prompt of `claude -p`."""
    before = len(room.requests())
    words = ("-p", prompt, "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions", *flags)
    done = room.client(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    texts = [json.dumps(asked["body"]["messages"], ensure_ascii=False) for asked in room.requests()[before:]]
    return "\n".join(texts)


@claude
@pytest.mark.parametrize("whose", ["--user", "--project"])
def test_the_bare_plan_works_from_the_first_session_on(room: ClientFixture, whose: str) -> None:  # 004-30
    room.model([{"say": "ok"}])
    assert PLAN not in told(room, "/ralph-plan")  # 2.1.197 says so itself, 2.1.326 hands it to the model as a prompt
    installed = room.ralph("plugin", "install", whose)
    assert installed.returncode == 0, installed.stderr
    asked = told(room, "/ralph-plan a search")
    assert PLAN in asked
    assert "<command-name>/ralph-plan</command-name>" in asked
    assert "<command-args>a search</command-args>" in asked
    folder = room.home if whose == "--user" else room.repo
    assert f"Base directory for this skill: {folder / '.claude/skills/ralph-plan'}" in asked
    assert room.ralph("plugin", "uninstall", whose).returncode == 0
    assert PLAN not in told(room, "/ralph-plan")  # 2.1.197 says so itself, 2.1.326 hands it to the model as a prompt


@claude
def test_the_commands_of_the_plugin_have_its_name_before_theirs(room: ClientFixture) -> None:  # 004-01, 004-30, 002-14
    room.model([{"say": "ok"}])
    assert PLAN in told(room, "/ralph:ralph-plan", *FROM_PLUGIN)
    assert STATUS in told(room, "/ralph:status", *FROM_PLUGIN)
    assert TASKS in told(room, "/ralph:specflow.tasks SPEC-1", *FROM_PLUGIN)
    assert PLAN in told(room, "/ralph-plan", *FROM_PLUGIN)  # a skill is also found by its own name, a command is not
    assert TASKS not in told(room, "/specflow.tasks SPEC-1", *FROM_PLUGIN)


@claude
def test_installed_for_the_user_they_come_with_the_second_session(room: ClientFixture) -> None:  # 004-01
    room.model([{"say": "ok"}])
    assert room.ralph("plugin", "install", "--user").returncode == 0
    told(room, "hello")  # the first session fetches the plugin
    assert STATUS in told(room, "/ralph:status")
    assert TASKS in told(room, "/ralph:specflow.tasks SPEC-1")
    both = told(room, "/ralph-plan")
    assert PLAN in both
    assert f"Base directory for this skill: {room.home / '.claude/skills/ralph-plan'}" in both
