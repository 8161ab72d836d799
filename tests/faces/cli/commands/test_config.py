"""`ralph config`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ralph.faces.cli.commands.config import command


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("RALPH_BUDGET_USD", "2.5")
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph/settings.json").write_text(
        '{"maximumIterations": 3, "maxIteration": 1,'
        ' "agent": {"command": "claude", "environment": {"MY_TOKEN": "s3cret", "LANG": "C"}}}'
    )
    (tmp_path / ".ralph/settings.local.json").write_text('{"agent": {"flags": ["--verbose"]}}')


def show(*arguments: str) -> Result:
    result = CliRunner().invoke(command, ["show", *arguments], standalone_mode=False, catch_exceptions=False)
    assert result.return_value == 0
    assert "s3cret" not in result.output
    return result


def test_each_setting_is_a_line() -> None:
    lines = show().stdout.splitlines()
    assert "maximumIterations = 3" in lines
    assert 'agent.environment.MY_TOKEN = "***"' in lines
    assert 'agent.environment.LANG = "C"' in lines
    assert "budgetUsd = 2.5" in lines
    assert not [line for line in lines if "schema" in line]


def test_origins_name_the_source_of_each_value() -> None:
    origins = {line.split(" = ")[0]: line.rpartition("  (")[2] for line in show("--origin").stdout.splitlines()}
    assert origins["maximumIterations"] == ".ralph/settings.json)"
    assert origins["agent.flags"] == ".ralph/settings.local.json)"
    assert origins["budgetUsd"] == "RALPH_BUDGET_USD)"
    assert origins["completionResponse"] == "default)"


def test_json_is_json() -> None:
    plain = json.loads(show("--json").stdout)
    assert plain["agent"] == plain["agent"] | {"command": "claude", "flags": ["--verbose"]}
    both = json.loads(show("--json", "--origin").stdout)
    assert both["settings"] == plain
    assert both["origins"]["agent.command"] == ".ralph/settings.json"


def test_warnings_go_to_stderr() -> None:
    said = show("--json").stderr
    assert said == 'warning: unknown key "maxIteration" in .ralph/settings.json: did you mean "maximumIterations"?\n'


def test_the_schema_is_printed() -> None:
    result = CliRunner().invoke(command, ["schema"], standalone_mode=False)
    assert json.loads(result.stdout)["$defs"]["Settings"]["properties"]["maximumIterations"]["minimum"] == 1
