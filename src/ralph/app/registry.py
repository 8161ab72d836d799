"""Find an extension by kind and name: our own module first, then an installed entry point."""

import importlib
import importlib.util
from types import ModuleType
from typing import TYPE_CHECKING

from ralph.model.agent_card import AgentCard
from ralph.model.errors import UnknownExtension

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

OLD_GROUPS = {"verifiers": ("ralph.gates",)}  # what packages of 0.1 register by; still heard


def load_extension(kind: str, name: str) -> ModuleType:
    """The module `ralph.<kind>.<name>`, or what the entry-point group `ralph.<kind>` gives for that name."""
    if name.isidentifier() and not name.startswith("_") and importlib.util.find_spec(f"ralph.{kind}.{name}"):
        return importlib.import_module(f"ralph.{kind}.{name}")
    for entry in _entry_points(kind):
        if entry.name == name:
            found: ModuleType = entry.load()
            return found
    raise UnknownExtension(
        f"no {kind} named {name!r}; known: {', '.join(list_extensions(kind))}", "check the spelling in settings"
    )


def load_agent_card(adapter: str) -> AgentCard:
    """As its file says; someone else's adapter need not have one."""
    card: AgentCard = getattr(load_extension("agents", adapter), "CARD", AgentCard(title=adapter))
    return card


def list_extensions(kind: str) -> list[str]:
    return sorted({*_builtin_names(kind), *_entry_point_names(kind)})


def list_third_party_extensions(kind: str) -> list[str]:
    return sorted(_entry_point_names(kind) - _builtin_names(kind))


def _builtin_names(kind: str) -> set[str]:
    import pkgutil

    package = importlib.import_module(f"ralph.{kind}")
    return {module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")}


def _entry_point_names(kind: str) -> set[str]:
    return {entry.name for entry in _entry_points(kind)}


def _entry_points(kind: str) -> "list[EntryPoint]":
    from importlib.metadata import entry_points

    groups = (f"ralph.{kind}", *OLD_GROUPS.get(kind, ()))
    return [entry for group in groups for entry in entry_points(group=group)]
