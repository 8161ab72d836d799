"""Which adapter speaks to a command."""

from importlib.machinery import PathFinder

import ralph.agents

GENERIC_ADAPTER = "command"


def resolve_adapter_name(command: str) -> str:
    """`/usr/local/bin/claude` and `claude.exe` are claude; what no adapter is named after is any command."""
    name = command.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    return name if name.isidentifier() and not name.startswith("_") and _has_adapter(name) else GENERIC_ADAPTER


def _has_adapter(name: str) -> bool:
    return PathFinder.find_spec(f"ralph.agents.{name}", ralph.agents.__path__) is not None
