"""`ralph config`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ralph.faces.cli.commands.config import command
from ralph.model.errors import UsageError


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


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(command, arguments, standalone_mode=False, catch_exceptions=False)
    assert "s3cret" not in result.output
    return result


def test_a_change_names_file_value_and_the_one_before() -> None:
    assert run("set", "maximumIterations", "4").stdout == ".ralph/settings.json: maximumIterations = 4 (was 3)\n"
    assert run("set", "agent.model", "x").stdout == '.ralph/settings.json: agent.model = "x" (was "", default)\n'
    assert run("unset", "maximumIterations").stdout == (
        ".ralph/settings.json: maximumIterations removed (was 4); now 10, default\n"
    )
    assert run("unset", "agent").stdout.startswith('.ralph/settings.json: agent removed (was {"command":"claude"')


def test_secrets_are_written_and_not_shown(tmp_path: Path) -> None:
    said = run("set", "agent.environment.OTHER_TOKEN", "s3cret2", "--local")
    assert said.stdout == '.ralph/settings.local.json: agent.environment.OTHER_TOKEN = "***" (was not set)\n'
    assert "s3cret2" in (tmp_path / ".ralph/settings.local.json").read_text()
    assert run("get", "agent.environment.OTHER_TOKEN").stdout == "***\n"


def test_a_change_without_effect_warns() -> None:
    said = run("set", "budgetUsd", "1")
    assert said.stderr == "warning: RALPH_BUDGET_USD overrides it: budgetUsd stays 2.5\n"


def test_flags_may_look_like_options() -> None:
    assert run("set", "agent.flags", "--model", "opus", "--user").stdout.startswith(
        '~/.config/ralph/settings.json: agent.flags = ["--model","opus"]'
    )


def test_one_setting_is_printed_for_scripts() -> None:
    assert run("get", "agent.command").stdout == "claude\n"
    assert run("get", "agent.flags").stdout == '["--verbose"]\n'
    assert run("get", "agent.flags", "--origin").stdout == '["--verbose"]  (.ralph/settings.local.json)\n'
    assert json.loads(run("get", "agent.command", "--json", "--origin").stdout) == {
        "value": "claude",
        "origin": ".ralph/settings.json",
    }


def test_list_is_show() -> None:
    assert run("list").stdout == run("show").stdout


def test_two_files_at_once_are_refused() -> None:
    with pytest.raises(UsageError):
        run("set", "agent.model", "x", "--user", "--local")


def test_text_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        run("set", "agent.model", "\udcff")
