"""Finding the Claude Code plugin and enabling it in Claude Code's settings."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ralph.app import plugin
from ralph.faces.cli.plugin import command
from ralph.model.errors import ConfigError
from support.hooks import PLUGIN

ROOT = PLUGIN.parents[1]
ENABLED: dict[str, Any] = {
    "extraKnownMarketplaces": {"ralph-loop": {"source": {"source": "directory", "path": str(ROOT)}}},
    "enabledPlugins": {"ralph@ralph-loop": True},
}


def test_in_a_checkout_the_plugin_is_the_checkouts() -> None:
    assert plugin.plugin_folder() == str(PLUGIN)
    assert plugin.marketplace_folder(str(PLUGIN)) == str(ROOT)


def test_an_installed_plugin_is_its_own_marketplace(tmp_path: Path) -> None:
    (tmp_path / ".claude-plugin").mkdir()
    (tmp_path / ".claude-plugin" / "marketplace.json").write_text("{}")
    assert plugin.marketplace_folder(str(tmp_path)) == str(tmp_path)


def test_the_names_are_those_of_the_manifests() -> None:
    marketplace = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    assert (marketplace["name"], marketplace["plugins"][0]["name"]) == (plugin.MARKETPLACE, plugin.PLUGIN)


def test_settings_are_written_as_claude_code_itself_writes_them(tmp_path: Path) -> None:
    settings = str(tmp_path / ".claude" / "settings.json")
    plan = plugin.planned(settings, str(ROOT))
    plugin.install(plan)
    assert json.loads(Path(settings).read_text()) == ENABLED
    assert not plugin.planned(settings, str(ROOT)).is_news


def test_everything_else_in_the_settings_stays(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    theirs = {
        "model": "opus",
        "extraKnownMarketplaces": {"team": {"source": {"source": "github", "repo": "a/b"}}},
        "enabledPlugins": {"x@team": False, "ralph@ralph-loop": False},
    }
    settings.write_text(json.dumps(theirs))
    plugin.install(plugin.planned(str(settings), str(ROOT)))
    found = json.loads(settings.read_text())
    assert found == {
        "model": "opus",
        "extraKnownMarketplaces": theirs["extraKnownMarketplaces"] | ENABLED["extraKnownMarketplaces"],
        "enabledPlugins": {"x@team": False, "ralph@ralph-loop": True},
    }
    assert [*found] == [*theirs]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"enabledPlugins": []}', '{"extraKnownMarketplaces": 5}', "\xff"])
def test_settings_that_make_no_sense_are_left_alone(tmp_path: Path, text: str) -> None:
    settings = tmp_path / "settings.json"
    settings.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"settings\.json: "):
        plugin.planned(str(settings), str(ROOT))
    assert settings.read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize(
    ("flag", "place"), [("--user", "home/.claude"), ("--project", "project/.claude"), (None, "home/.claude")]
)
def test_the_command_writes_where_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str | None, place: str
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    words = ["install", *([flag] if flag else [])]
    settings = tmp_path / place / "settings.json"
    assert f"{settings} would hold:" in CliRunner().invoke(command, [*words, "--dry-run"]).output
    assert not settings.exists()
    assert f"Enabled ralph@ralph-loop in {settings}" in CliRunner().invoke(command, words).output
    assert json.loads(settings.read_text()) == ENABLED
    assert "has it already" in CliRunner().invoke(command, words).output
    told = json.loads(CliRunner().invoke(command, [*words, "--json"]).output)
    assert told == {"settings": str(settings), "plugin": str(PLUGIN), "changed": False}


def test_claudes_own_choice_of_a_folder_is_honoured(tmp_path: Path) -> None:
    assert plugin.user_settings({"CLAUDE_CONFIG_DIR": str(tmp_path)}) == str(tmp_path / "settings.json")


def test_the_command_prints_the_path() -> None:
    assert CliRunner().invoke(command, ["path"]).output == f"{PLUGIN}\n"
    assert json.loads(CliRunner().invoke(command, ["path", "--json"]).output) == {"path": str(PLUGIN)}
