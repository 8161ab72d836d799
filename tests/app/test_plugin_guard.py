"""The guard for one run: settings with a hook, added to the user's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from ralph.app import wiring
from ralph.app.agent_command import AgentCommand, resolve_agent
from ralph.app.plugin_guard import GUARD_VARIABLE, build_guard_settings
from ralph.config.schema import AgentSettings
from ralph.engine.agent_run import AgentRequest, CallFiles
from support.scripted_processes import ScriptedProcesses, say


def build(words: tuple[str, ...], folder: Path) -> dict[str, Any]:
    found = build_guard_settings("--settings", words, project="/work/app", folder=str(folder))
    assert not found.problem
    settings: dict[str, Any] = json.loads(found.text)
    return settings


def test_a_run_gets_a_hook_before_every_command_and_edit(tmp_path: Path) -> None:
    (entry,) = build((), tmp_path)["hooks"]["PreToolUse"]
    assert "Bash" in entry["matcher"]
    (hook,) = entry["hooks"]
    assert hook["command"].endswith("pretooluse_guard.py --project /work/app")


@pytest.mark.parametrize("form", ["inline", "file", "equals"])
def test_settings_of_the_users_own_still_hold(tmp_path: Path, form: str) -> None:
    own = {"model": "x", "hooks": {"Stop": [1], "PreToolUse": [{"matcher": "Grep", "hooks": []}]}}
    (tmp_path / "own.json").write_text(json.dumps(own))
    words = {
        "inline": ("--settings", json.dumps(own)),
        "file": ("--settings", "own.json"),
        "equals": (f"--settings={tmp_path}/own.json",),
    }
    settings = build(words[form], tmp_path)
    assert (settings["model"], settings["hooks"]["Stop"]) == ("x", [1])
    assert settings["hooks"]["PreToolUse"][0]["matcher"] == "Grep"
    assert len(settings["hooks"]["PreToolUse"]) == 2


def test_settings_that_cannot_be_read_are_left_alone_and_told(tmp_path: Path) -> None:
    found = build_guard_settings("--settings", ("--settings", "none.json"), project="/x", folder=str(tmp_path))
    assert (found.text, found.problem) == ("", "--settings none.json cannot be read")


@pytest.mark.parametrize(
    ("program", "settings", "guarded"),
    [
        ("claude", AgentSettings(command="claude"), True),
        ("claude", AgentSettings(command="claude", guard=False), False),
        ("codex", AgentSettings(command="codex"), False),
    ],
)
def test_claude_is_called_with_it_and_the_installed_plugin_steps_back(
    tmp_path: Path, program: str, settings: AgentSettings, guarded: bool
) -> None:
    (tmp_path / program).write_text("#!/bin/sh\n")
    (tmp_path / program).chmod(0o755)
    variables = {"PATH": str(tmp_path)}
    command = resolve_agent(settings, str(tmp_path), variables)
    processes = ScriptedProcesses(say("done"), say("done"))
    prepared = wiring.prepare_agent(command, str(tmp_path), variables, processes)
    argv = prepared.agent.invocation("work", "stream", None).argv
    assert ("--settings" in argv) is guarded
    assert guarded is any("pretooluse_guard.py" in word for word in argv)
    runner = wiring.build_agent_runner(
        prepared,
        command,
        settings=settings,
        folder=str(tmp_path),
        variables=variables,
        own={},
        processes=processes,
    )
    files = CallFiles.of_call(str(tmp_path), 1, str(tmp_path))
    runner.run(AgentRequest(prompt="work", mode="stream", files=files, iteration=1), ())
    assert (GUARD_VARIABLE in processes.commands[-1].environment) is (program == "claude")


def test_a_judge_is_asked_without_it(tmp_path: Path) -> None:
    command = AgentCommand(adapter="claude", argv=("claude",), guarded=True, judges=True)
    prepared = wiring.prepare_agent(command, str(tmp_path), {}, ScriptedProcesses())
    assert "--settings" not in prepared.agent.invocation("judge", "stream", None).argv
