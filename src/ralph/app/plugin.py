"""The Claude Code plugin that comes with ralph: where it is, and how Claude Code gets to know it."""

import json
import os
from typing import Any

from msgspec import Struct

from ralph.config.writing import pretty, write_whole
from ralph.model.errors import ConfigError, MachineError

MARKETPLACE = "ralph-loop"
PLUGIN = "ralph"
_MANIFEST = os.path.join(".claude-plugin", "plugin.json")
_CATALOGUE = os.path.join(".claude-plugin", "marketplace.json")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Installation(Struct, frozen=True):
    """What a settings file of Claude Code is to hold, and whether that is news to it."""

    settings: str
    text: str
    is_news: bool


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


def user_settings(environment: dict[str, str]) -> str:
    """Claude Code's settings of the user."""
    folder = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    return os.path.join(folder, "settings.json")


def project_settings(folder: str) -> str:
    """Claude Code's settings of a project."""
    return os.path.join(folder, ".claude", "settings.json")


def planned(settings: str, marketplace: str) -> Installation:
    """The settings with our plugin enabled, all else as it is."""
    before = _read(settings)
    after = {
        **before,
        "extraKnownMarketplaces": {
            **_table(settings, before, "extraKnownMarketplaces"),
            MARKETPLACE: {"source": {"source": "directory", "path": marketplace}},
        },
        "enabledPlugins": {**_table(settings, before, "enabledPlugins"), f"{PLUGIN}@{MARKETPLACE}": True},
    }
    return Installation(settings, pretty(after) + "\n", before != after)


def install(plan: Installation) -> None:
    """Write it, unless it is there already."""
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
