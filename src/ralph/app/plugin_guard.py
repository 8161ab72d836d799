"""The guard of the plugin for one run of an agent: settings that hold for that run alone."""

import os
import shlex
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ralph.app.plugin_files import find_plugin_folder
from ralph.core.text.utf8 import BYTE_ORDER_MARK
from ralph.model.errors import MachineError
from ralph.process.atomic_file import read_regular_file

GUARD_VARIABLE = "RALPH_GUARD"  # told to the hook of an installed plugin: its turn is taken
GUARDED_TOOLS = "Bash|Write|Edit|MultiEdit|NotebookEdit|Read"
GUARD_TIMEOUT_SECONDS = 10
MAX_SETTINGS_CHARS = 1 << 20
_SCRIPT = os.path.join("hooks", "scripts", "pretooluse_guard.py")


class GuardSettings(Struct, frozen=True, kw_only=True):
    """What the agent's settings flag is given, or why there is no guard."""

    text: str = ""
    problem: str = ""


def build_guard_settings(flag: str, words: Sequence[str], *, project: str, folder: str) -> GuardSettings:
    """A hook that looks at each command before it runs, added to what `words`, the user's own, say by the same flag:
    the CLI heeds only one of them. A file is looked for from `folder`."""
    try:
        plugin = find_plugin_folder()
    except MachineError as error:
        return GuardSettings(problem=error.message)
    own = _find_value(flag, words)
    settings = _read_settings(own, folder) if own else {}
    if settings is None:
        return GuardSettings(problem=f"{flag} {own} cannot be read")
    hook = {"type": "command", "command": _spell_command(plugin, project), "timeout": GUARD_TIMEOUT_SECONDS}
    hooks = settings.get("hooks")
    before = hooks if isinstance(hooks, dict) else {}
    listed = before.get("PreToolUse")
    ours = {"matcher": GUARDED_TOOLS, "hooks": [hook]}
    after = {**before, "PreToolUse": [*(listed if isinstance(listed, list) else []), ours]}
    return GuardSettings(text=msgspec.json.encode({**settings, "hooks": after}).decode())


def _spell_command(plugin: str, project: str) -> str:
    """With our own Python: beside it is the grammar that commands are read by."""
    return shlex.join((sys.executable, "-Es", os.path.join(plugin, _SCRIPT), "--project", project))


def _find_value(flag: str, words: Sequence[str]) -> str:
    value = ""
    for at, word in enumerate(words):
        if word == flag and at + 1 < len(words):
            value = words[at + 1]
        elif word.startswith(f"{flag}="):
            value = word.partition("=")[2]
    return value


def _read_settings(value: str, folder: str) -> dict[str, Any] | None:
    """As the CLI does: JSON, or the path of a file with it."""
    try:
        text = value if value.lstrip().startswith("{") else _read_file(os.path.join(folder, value))
        found = msgspec.json.decode(text)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _read_file(path: str) -> str:
    return read_regular_file(path, MAX_SETTINGS_CHARS).removeprefix(BYTE_ORDER_MARK)
