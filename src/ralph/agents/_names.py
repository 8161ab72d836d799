"""Which adapter speaks to a command."""

from importlib.machinery import PathFinder

import ralph.agents

ANY = "command"


def name_of(command: str) -> str:
    """`/usr/local/bin/claude` and `claude.exe` are claude; what no adapter is named after is any command."""
    name = command.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    return name if name.isidentifier() and not name.startswith("_") and _exists(name) else ANY


def _exists(name: str) -> bool:
    return PathFinder.find_spec(f"ralph.agents.{name}", ralph.agents.__path__) is not None
