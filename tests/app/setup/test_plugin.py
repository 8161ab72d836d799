"""Finding the Claude Code plugin and enabling it in Claude Code's settings."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ralph.app import plugin_files
from ralph.app.setup import plugin
from ralph.faces.cli.commands.plugin import command
from ralph.model.errors import ConfigError
from support.hooks import PLUGIN_FOLDER

ROOT = PLUGIN_FOLDER.parents[1]
ENABLED: dict[str, Any] = {
    "extraKnownMarketplaces": {"ralph-loop": {"source": {"source": "directory", "path": str(ROOT)}}},
    "enabledPlugins": {"ralph@ralph-loop": True},
}


def test_in_a_checkout_the_plugin_is_the_checkouts() -> None:
    assert plugin_files.find_plugin_folder() == str(PLUGIN_FOLDER)
    assert plugin.find_marketplace_folder(str(PLUGIN_FOLDER)) == str(ROOT)


def test_an_installed_plugin_is_its_own_marketplace(tmp_path: Path) -> None:
    (tmp_path / ".claude-plugin").mkdir()
    (tmp_path / ".claude-plugin" / "marketplace.json").write_text("{}")
    assert plugin.find_marketplace_folder(str(tmp_path)) == str(tmp_path)


def test_the_names_are_those_of_the_manifests() -> None:
    marketplace = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    assert (marketplace["name"], marketplace["plugins"][0]["name"]) == (
        plugin.MARKETPLACE_NAME,
        plugin_files.PLUGIN_NAME,
    )


def test_settings_are_written_as_claude_code_itself_writes_them(tmp_path: Path) -> None:
    plugin.install_plugin(plugin.plan_installation(str(tmp_path / ".claude"), str(PLUGIN_FOLDER)))
    assert json.loads((tmp_path / ".claude" / "settings.json").read_text()) == ENABLED
    assert not plugin.plan_installation(str(tmp_path / ".claude"), str(PLUGIN_FOLDER)).changes_settings


def test_everything_else_in_the_settings_stays(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    theirs = {
        "model": "opus",
        "extraKnownMarketplaces": {"team": {"source": {"source": "github", "repo": "a/b"}}},
        "enabledPlugins": {"x@team": False, "ralph@ralph-loop": False},
    }
    settings.write_text(json.dumps(theirs))
    plugin.install_plugin(plugin.plan_installation(str(tmp_path), str(PLUGIN_FOLDER)))
    found = json.loads(settings.read_text())
    assert found == {
        "model": "opus",
        "extraKnownMarketplaces": theirs["extraKnownMarketplaces"] | ENABLED["extraKnownMarketplaces"],
        "enabledPlugins": {"x@team": False, "ralph@ralph-loop": True},
    }
    assert [*found] == [*theirs]
    plugin.uninstall_plugin(plugin.plan_removal(str(tmp_path), str(PLUGIN_FOLDER)))
    assert json.loads(settings.read_text()) == {**theirs, "enabledPlugins": {"x@team": False}}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"enabledPlugins": []}', '{"extraKnownMarketplaces": 5}', "\xff"])
def test_settings_that_make_no_sense_are_left_alone(tmp_path: Path, text: str) -> None:
    settings = tmp_path / "settings.json"
    settings.write_bytes(text.encode("latin-1"))
    for plan in (plugin.plan_installation, plugin.plan_removal):
        with pytest.raises(ConfigError, match=r"settings\.json: "):
            plan(str(tmp_path), str(PLUGIN_FOLDER))
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
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    whose = [flag] if flag else []
    settings, skill = tmp_path / place / "settings.json", tmp_path / place / "skills/ralph-plan/SKILL.md"
    dry = said("install", *whose, "--dry-run")
    assert f"{settings} would hold:" in dry
    assert f"{skill} would be written." in dry
    assert not (tmp_path / place).exists()
    first = said("install", *whose)
    assert f"Enabled ralph@ralph-loop in {settings}" in first
    assert f"/ralph-plan is in {skill}." in first
    assert ("once you have trusted this folder" in first) is (flag == "--project")
    assert json.loads(settings.read_text()) == ENABLED
    assert said("install", *whose) == f"{settings} has it already.\n"
    told = json.loads(said("install", *whose, "--json"))
    assert told == {"settings": str(settings), "plugin": str(PLUGIN_FOLDER), "skill": str(skill), "changed": False}
    assert said("uninstall", *whose) == f"Removed from {settings}.\nRemoved {skill}.\n"
    assert json.loads(settings.read_text()) == {}
    assert not skill.parent.exists()
    assert said("uninstall", *whose) == f"{settings} does not have it.\n"
    assert not json.loads(said("uninstall", *whose, "--json"))["changed"]


def said(*words: str) -> str:
    done = CliRunner().invoke(command, [*words])
    assert done.exit_code == 0, done.output
    return done.output


def test_claudes_own_choice_of_a_folder_is_honoured(tmp_path: Path) -> None:
    assert plugin.find_user_folder({"CLAUDE_CONFIG_DIR": str(tmp_path)}) == str(tmp_path)


# -- the skill under its bare name ----------------------------------------------------------------
def test_the_copy_holds_the_whole_skill(tmp_path: Path) -> None:  # 004-30
    plugin.install_plugin(plugin.plan_installation(str(tmp_path), str(PLUGIN_FOLDER)))
    skill = (tmp_path / "skills/ralph-plan/SKILL.md").read_text()
    assert skill.startswith((PLUGIN_FOLDER / "skills/ralph-plan/SKILL.md").read_text())
    assert "Written by `ralph plugin install`" in skill


def another_version(folder: Path) -> Path:
    """The plugin, with another text of the skill."""
    shutil.copytree(PLUGIN_FOLDER, folder)
    (folder / ".claude-plugin" / "marketplace.json").write_text("{}")
    (folder / "skills/ralph-plan/SKILL.md").write_text("---\nname: ralph-plan\n---\n\nAnother plan.\n")
    return folder


def test_an_upgrade_replaces_our_own_old_copy(tmp_path: Path) -> None:
    other = another_version(tmp_path / "other")
    plugin.install_plugin(plugin.plan_installation(str(tmp_path), str(other)))
    skill = tmp_path / "skills/ralph-plan/SKILL.md"
    assert "Another plan." in skill.read_text()
    plugin.install_plugin(plugin.plan_installation(str(tmp_path), str(PLUGIN_FOLDER)))
    assert "Another plan." not in skill.read_text()
    plugin.uninstall_plugin(plugin.plan_removal(str(tmp_path), str(other)))  # ours too, if of another version
    assert not skill.exists()


@pytest.mark.parametrize("change", ["mine", "changed", "without the mark"])
def test_what_is_the_users_is_left_alone_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    skill = tmp_path / "skills/ralph-plan/SKILL.md"
    said("install")
    if change == "changed":
        skill.write_text(skill.read_text().replace("Right-sized", "Tiny"))
    else:
        skill.write_text("mine\n" if change == "mine" else (PLUGIN_FOLDER / "skills/ralph-plan/SKILL.md").read_text())
    theirs = skill.read_text()
    left_alone = f"{skill} was edited, so it is kept."
    assert left_alone in said("install")
    assert left_alone in said("install", "--dry-run")
    assert left_alone in said("uninstall")
    assert skill.read_text() == theirs


def test_other_files_of_the_skill_stay(tmp_path: Path) -> None:
    plugin.install_plugin(plugin.plan_installation(str(tmp_path), str(PLUGIN_FOLDER)))
    (tmp_path / "skills/ralph-plan/notes.md").write_text("mine")
    plugin.uninstall_plugin(plugin.plan_removal(str(tmp_path), str(PLUGIN_FOLDER)))
    assert [path.name for path in (tmp_path / "skills/ralph-plan").iterdir()] == ["notes.md"]


@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_a_skill_that_cannot_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    (tmp_path / "skills/ralph-plan/SKILL.md").mkdir(parents=True)
    failed = CliRunner().invoke(command, [action])
    assert isinstance(failed.exception, ConfigError)
    assert not (tmp_path / "settings.json").exists()


def test_the_command_prints_the_path() -> None:
    assert CliRunner().invoke(command, ["path"]).output == f"{PLUGIN_FOLDER}\n"
    assert json.loads(CliRunner().invoke(command, ["path", "--json"]).output) == {"path": str(PLUGIN_FOLDER)}
