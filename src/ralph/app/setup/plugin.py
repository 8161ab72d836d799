"""The Claude Code plugin that comes with ralph: where it is, and how Claude Code gets to know it."""

import json
import os
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ralph.app.plugin_files import PLUGIN_NAME
from ralph.app.setup import plugin_skill
from ralph.config.writing import format_json
from ralph.model.errors import ConfigError, MachineError
from ralph.process.atomic_file import write_atomic

MARKETPLACE_NAME = "ralph-loop"
_MARKETPLACE_PATH = os.path.join(".claude-plugin", "marketplace.json")


class InstallationPlan(Struct, frozen=True, kw_only=True):
    """What a settings file of Claude Code is to hold, whether that is news to it, and the skill beside it."""

    settings: str
    text: str
    changes_settings: bool
    skill: plugin_skill.SkillCopy


def find_marketplace_folder(plugin: str) -> str:
    """The folder that offers the plugin: itself when installed, the checkout's root otherwise."""
    for folder in (plugin, os.path.dirname(os.path.dirname(plugin))):
        if os.path.exists(os.path.join(folder, _MARKETPLACE_PATH)):
            return folder
    raise MachineError(f"no {_MARKETPLACE_PATH} for the plugin in {plugin}", "install ralph again")


def find_user_folder(environment: Mapping[str, str]) -> str:
    """Where Claude Code keeps what is the user's."""
    return environment.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")


def find_project_folder(project: str) -> str:
    """Where Claude Code looks for what is a project's."""
    return os.path.join(project, ".claude")


def plan_installation(folder: str, plugin: str) -> InstallationPlan:
    """The settings of such a folder with our plugin enabled, all else as it is, and the skill."""
    settings = os.path.join(folder, "settings.json")
    marketplace = find_marketplace_folder(plugin)
    before = _read_settings(settings)
    after = {
        **before,
        "extraKnownMarketplaces": {
            **_read_table(settings, before, "extraKnownMarketplaces"),
            MARKETPLACE_NAME: {"source": {"source": "directory", "path": marketplace}},
        },
        "enabledPlugins": {
            **_read_table(settings, before, "enabledPlugins"),
            f"{PLUGIN_NAME}@{MARKETPLACE_NAME}": True,
        },
    }
    return InstallationPlan(
        settings=settings,
        text=format_json(after) + "\n",
        changes_settings=before != after,
        skill=plugin_skill.plan_skill_copy(plugin, folder),
    )


def plan_removal(folder: str, plugin: str) -> InstallationPlan:
    """The settings without a word of our plugin, all else as it is, and the skill."""
    settings = os.path.join(folder, "settings.json")
    before = _read_settings(settings)
    after = dict(before)
    for table, name in (
        ("extraKnownMarketplaces", MARKETPLACE_NAME),
        ("enabledPlugins", f"{PLUGIN_NAME}@{MARKETPLACE_NAME}"),
    ):
        left = {key: value for key, value in _read_table(settings, before, table).items() if key != name}
        if left or before.get(table) == {}:
            after[table] = left
        else:
            after.pop(table, None)
    return InstallationPlan(
        settings=settings,
        text=format_json(after) + "\n",
        changes_settings=before != after,
        skill=plugin_skill.plan_skill_copy(plugin, folder),
    )


def install_plugin(plan: InstallationPlan) -> None:
    """Write both, unless they are there already."""
    _write_settings(plan)
    plugin_skill.write_skill(plan.skill)


def uninstall_plugin(plan: InstallationPlan) -> None:
    """Take both away, as far as they are ours."""
    _write_settings(plan)
    plugin_skill.remove_skill(plan.skill)


def _write_settings(plan: InstallationPlan) -> None:
    if not plan.changes_settings:
        return
    try:
        write_atomic(plan.settings, plan.text, follow_links=True)
    except OSError as error:
        raise ConfigError(f"{plan.settings}: cannot be written: {error.strerror}") from None


def _read_settings(settings: str) -> dict[str, Any]:
    try:
        with open(settings, encoding="utf-8-sig") as file:
            found = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{settings}: cannot be read: {error}", "fix it, then try again") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{settings}: holds no JSON object", "fix it, then try again")
    return found


def _read_table(settings: str, document: dict[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{settings}: {name} is not an object", "fix it, then try again")
    return found
