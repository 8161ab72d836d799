"""The Claude Code plugin that comes with ralph: where it is, and how Claude Code gets to know it."""

import json
import os
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ralph.app.setup import plugin_skill
from ralph.config.writing import pretty, write_whole
from ralph.model.errors import ConfigError, MachineError

MARKETPLACE = "ralph-loop"
PLUGIN = "ralph"
_MANIFEST = os.path.join(".claude-plugin", "plugin.json")
_CATALOGUE = os.path.join(".claude-plugin", "marketplace.json")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Installation(Struct, frozen=True):
    """What a settings file of Claude Code is to hold, whether that is news to it, and the skill beside it."""

    settings: str
    text: str
    is_news: bool
    skill: plugin_skill.Copy


def plugin_folder() -> str:
    """The plugin: beside the installed package, else in the checkout."""
    checkout = os.path.dirname(os.path.dirname(_PACKAGE))
    for folder in (os.path.join(_PACKAGE, "plugin"), os.path.join(checkout, "plugins", PLUGIN)):
        if os.path.exists(os.path.join(folder, _MANIFEST)):
            return folder
    raise MachineError("this installation of ralph lacks its Claude Code plugin", "install ralph again")


def marketplace_folder(plugin: str) -> str:
    """The folder that offers the plugin: itself when installed, the checkout's root otherwise."""
    for folder in (plugin, os.path.dirname(os.path.dirname(plugin))):
        if os.path.exists(os.path.join(folder, _CATALOGUE)):
            return folder
    raise MachineError(f"no {_CATALOGUE} for the plugin in {plugin}", "install ralph again")


def user_folder(environment: Mapping[str, str]) -> str:
    """Where Claude Code keeps what is the user's."""
    return environment.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")


def project_folder(project: str) -> str:
    """Where Claude Code looks for what is a project's."""
    return os.path.join(project, ".claude")


def planned(folder: str, plugin: str) -> Installation:
    """The settings of such a folder with our plugin enabled, all else as it is, and the skill."""
    settings = os.path.join(folder, "settings.json")
    marketplace = marketplace_folder(plugin)
    before = _read(settings)
    after = {
        **before,
        "extraKnownMarketplaces": {
            **_table(settings, before, "extraKnownMarketplaces"),
            MARKETPLACE: {"source": {"source": "directory", "path": marketplace}},
        },
        "enabledPlugins": {**_table(settings, before, "enabledPlugins"), f"{PLUGIN}@{MARKETPLACE}": True},
    }
    return Installation(settings, pretty(after) + "\n", before != after, plugin_skill.copied(plugin, folder))


def planned_removal(folder: str, plugin: str) -> Installation:
    """The settings without a word of our plugin, all else as it is, and the skill."""
    settings = os.path.join(folder, "settings.json")
    before = _read(settings)
    after = dict(before)
    for table, name in (("extraKnownMarketplaces", MARKETPLACE), ("enabledPlugins", f"{PLUGIN}@{MARKETPLACE}")):
        left = {key: value for key, value in _table(settings, before, table).items() if key != name}
        if left or before.get(table) == {}:
            after[table] = left
        else:
            after.pop(table, None)
    return Installation(settings, pretty(after) + "\n", before != after, plugin_skill.copied(plugin, folder))


def install(plan: Installation) -> None:
    """Write both, unless they are there already."""
    _write(plan)
    plugin_skill.place(plan.skill)


def uninstall(plan: Installation) -> None:
    """Take both away, as far as they are ours."""
    _write(plan)
    plugin_skill.remove(plan.skill)


def _write(plan: Installation) -> None:
    if not plan.is_news:
        return
    try:
        write_whole(plan.settings, plan.text)
    except OSError as error:
        raise ConfigError(f"{plan.settings}: cannot be written: {error.strerror}") from None


def _read(settings: str) -> dict[str, Any]:
    try:
        with open(settings, encoding="utf-8-sig") as file:
            found = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{settings}: cannot be read: {error}", "put it right, then try again") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{settings}: holds no JSON object", "put it right, then try again")
    return found


def _table(settings: str, document: dict[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{settings}: {name} is no object", "put it right, then try again")
    return found
