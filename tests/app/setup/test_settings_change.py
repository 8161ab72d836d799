"""One key of a settings file is changed; the settings reader has the last word on it."""

import json
from pathlib import Path
from typing import Any

import pytest

from ralph.app.paths import find_project_paths
from ralph.app.setup.settings_change import SettingChange, SettingsEditor, SettingsScope
from ralph.config.sources import DEFAULT_ORIGIN
from ralph.model.errors import ConfigError, UsageError

PROJECT, LOCAL, USER = ".ralph/settings.json", ".ralph/settings.local.json", "home/.config/ralph/settings.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    return tmp_path


def edit(folder: Path, scope: SettingsScope = "project", **variables: str) -> SettingsEditor:
    environment = {"HOME": str(folder / "home"), **variables}
    return SettingsEditor(scope, find_project_paths(str(folder)), environment)


def read(folder: Path, name: str = PROJECT) -> Any:
    return json.loads((folder / name).read_text())


@pytest.mark.parametrize(
    ("key", "words", "written"),
    [
        ("maximumIterations", ["20"], 20),
        ("budgetUsd", ["2.5"], 2.5),
        ("snapshots", ["false"], False),
        ("agent.timeoutSeconds", ["null"], None),
        ("completionResponse", ["FINISHED"], "FINISHED"),
        ("completionResponse", ["42"], "42"),
        ("completionResponse", ['"DONE"'], "DONE"),
        ("agent.model", ["true"], "true"),
        ("agent", ["claude"], "claude"),
        ("agent", ['{"command": "codex"}'], {"command": "codex"}),
        ("guardrails", ["make test"], ["make test"]),
        ("guardrails", ["make lint", "make test"], ["make lint", "make test"]),
        ("guardrails", ['[{"command": "x", "hint": "y"}]'], [{"command": "x", "hint": "y"}]),
        ("agent.flags", ["--model opus"], ["--model opus"]),
        ("agents.codex.flags", ["-s read-only"], ["-s read-only"]),
        ("until", ["response promise"], ["response", "promise"]),
        ("scm.tasks", ["commit", "push"], ["commit", "push"]),
        ("agent.environment.A", ["1"], "1"),
        ("specflow.coder.max_iterations", ["3"], 3),
    ],
)
def test_a_value_is_json_where_the_key_takes_that_else_text(
    folder: Path, key: str, words: list[str], written: object
) -> None:
    change = edit(folder).set_value(key, words)
    assert change.value == written
    document = read(folder)
    for part in key.split("."):
        document = document[part]
    assert (document, type(document)) == (written, type(written))


@pytest.mark.parametrize(
    ("key", "words", "said"),
    [
        ("maximumIterations", ["abc"], f'{PROJECT}: maximumIterations: expected an integer ≥ 1, got "abc"'),
        ("maximumIterations", ["0"], f"{PROJECT}: maximumIterations: expected an integer ≥ 1, got 0"),
        ("snapshots", ["no"], f'{PROJECT}: snapshots: expected true or false, got "no"'),
        ("agent.permissions", ["some"], f"{PROJECT}: agent.permissions: expected one of"),
        ("until", ["[]"], f"{PROJECT}: until: expected a list of"),
        ("guardrails", [" "], f"{PROJECT}: guardrails[0].command: expected a non-blank string"),
        (
            "specflow.judge.model",
            ["opus"],
            f"{PROJECT}: specflow.judge.agent: expected a non-blank string, got nothing",
        ),
        ("agent.flags", ['--say "hi'], f"{PROJECT}: agent.flags[0]: expected quotation marks in pairs"),
    ],
)
def test_a_wrong_value_is_answered_by_the_settings_reader_and_nothing_is_written(
    folder: Path, key: str, words: list[str], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        edit(folder).set_value(key, words)
    assert caught.value.message.startswith(said)
    assert not (folder / PROJECT).exists()


def test_two_values_for_what_takes_one_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="completionResponse takes one value"):
        edit(folder).set_value("completionResponse", ["ALL", "DONE"])


def test_what_else_is_in_the_file_stays_to_the_byte(folder: Path) -> None:
    text = '{\n    "zzz": 1,\n    "maximumIterations":   3,\n  "agent": "claude"\n}'
    (folder / PROJECT).write_text(text)
    edit(folder).set_value("maximumIterations", ["4"])
    assert (folder / PROJECT).read_text() == text.replace("3", "4")


def test_an_agent_that_is_only_named_keeps_its_name(folder: Path) -> None:
    (folder / PROJECT).write_text('{"agent": "claude"}')
    change = edit(folder).set_value("agent.model", ["opus"])
    assert read(folder) == {"agent": {"command": "claude", "model": "opus"}}
    assert change.after.value == "opus"
    edit(folder).remove_value("agent.command")
    assert read(folder) == {"agent": {"model": "opus"}}


def test_a_missing_file_is_created_with_all_that_belongs_to_it(folder: Path) -> None:
    change = edit(folder).set_value("agent", ["claude"])
    assert read(folder) == {"$schema": "./settings.schema.json", "agent": "claude"}
    assert (folder / ".ralph/settings.schema.json").exists()
    assert ".gitignore" in change.notes[0]
    assert edit(folder).set_value("agent", ["codex"]).notes == ()


@pytest.mark.parametrize(
    ("scope", "file", "name"),
    [("local", LOCAL, LOCAL), ("user", USER, "~/.config/ralph/settings.json"), ("project", PROJECT, PROJECT)],
)
def test_each_scope_has_its_file(folder: Path, scope: SettingsScope, file: str, name: str) -> None:
    change = edit(folder, scope).set_value("agent.model", ["opus"])
    assert read(folder, file)["agent"] == {"model": "opus"}
    assert change.file == name


def test_without_a_home_there_is_no_file_of_ones_own(folder: Path) -> None:
    with pytest.raises(UsageError, match="no home"):
        edit(folder, "user", HOME="")


def test_the_value_before_is_the_files_own_else_the_one_in_force(folder: Path) -> None:
    def before(change: SettingChange) -> tuple[object, str]:
        return change.before.value, change.before.origin

    assert before(edit(folder).set_value("maximumIterations", ["7"])) == (10, DEFAULT_ORIGIN)
    assert before(edit(folder, "local").set_value("maximumIterations", ["5"])) == (7, PROJECT)
    assert before(edit(folder).set_value("maximumIterations", ["8"])) == (7, PROJECT)


def test_a_stronger_source_is_named(folder: Path) -> None:
    edit(folder, "local").set_value("agent.model", ["haiku"])
    change = edit(folder).set_value("agent.model", ["opus"])
    assert (change.overridden_by, change.after.value) == (LOCAL, "haiku")
    assert edit(folder, "local").set_value("agent.model", ["sonnet"]).overridden_by == ""
    assert (
        edit(folder, RALPH_AGENT_MODEL="x").set_value("agent", ['{"model": "y"}']).overridden_by == "RALPH_AGENT_MODEL"
    )
    assert edit(folder).set_value("agent", ["claude"]).overridden_by == "", "the command itself is nobody else's"


def test_a_removed_key_gives_way_to_weaker_sources(folder: Path) -> None:
    edit(folder, "user").set_value("maximumIterations", ["3"])
    edit(folder).set_value("maximumIterations", ["4"])
    change = edit(folder).remove_value("maximumIterations")
    assert (change.is_removed, change.before.value, change.after.value) == (True, 4, 3)
    assert change.after.origin == "~/.config/ralph/settings.json"
    assert read(folder) == {"$schema": "./settings.schema.json"}


@pytest.mark.parametrize("exists", [True, False])
def test_what_is_not_set_cannot_be_removed(folder: Path, exists: bool) -> None:
    edit(folder, "user").set_value("maximumIterations", ["3"])
    if exists:
        (folder / PROJECT).write_text("{}")
    with pytest.raises(ConfigError, match=r"maximumIterations is not set in \.ralph/settings\.json") as caught:
        edit(folder).remove_value("maximumIterations")
    assert caught.value.hint == "it comes from ~/.config/ralph/settings.json"


def test_a_file_with_another_mistake_is_told_with_its_line_and_left_alone(folder: Path) -> None:
    text = '{\n  "snapshots": 3\n}'
    (folder / PROJECT).write_text(text)
    with pytest.raises(ConfigError, match=r"settings\.json:2: snapshots"):
        edit(folder).set_value("maximumIterations", ["4"])
    assert (folder / PROJECT).read_text() == text


def test_a_mistake_can_be_mended(folder: Path) -> None:
    (folder / PROJECT).write_text('{"snapshots": 3}')
    change = edit(folder).set_value("snapshots", ["true"])
    assert read(folder) == {"snapshots": True}
    assert change.after.value is True


@pytest.mark.parametrize("text", ["", "{", "[]", "// no comments\n{}"])
def test_a_file_that_is_no_object_is_left_alone(folder: Path, text: str) -> None:
    (folder / PROJECT).write_text(text)
    with pytest.raises(ConfigError):
        edit(folder).set_value("snapshots", ["true"])
    with pytest.raises(ConfigError):
        edit(folder).remove_value("snapshots")
    assert (folder / PROJECT).read_text() == text


def test_below_the_settings_their_file_is_the_one_that_is_changed(folder: Path) -> None:
    (folder / PROJECT).write_text("{}")
    (folder / "a").mkdir()
    editor = SettingsEditor("project", find_project_paths(str(folder / "a")), {})
    assert editor.set_value("agent", ["claude"]).file == "../.ralph/settings.json"
    assert read(folder) == {"agent": "claude"}
