"""Which adapter speaks to a command."""

from importlib.machinery import PathFinder

import ralph.agents
from ralph.agents._cards import load_builtin_cards

GENERIC_ADAPTER = "command"


def resolve_adapter_name(command: str) -> str:
    """`/usr/local/bin/claude` and `claude.exe` are claude; a program that no card names is any command."""
    name = extract_program_name(command)
    if name.isidentifier() and not name.startswith("_") and _has_adapter(name):
        return name
    return next((adapter for adapter, card in load_builtin_cards().items() if name in card.programs), GENERIC_ADAPTER)


def extract_program_name(command: str) -> str:
    return command.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


def _has_adapter(name: str) -> bool:
    return PathFinder.find_spec(f"ralph.agents.{name}", ralph.agents.__path__) is not None
