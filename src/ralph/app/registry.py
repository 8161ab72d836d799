"""Find an extension by kind and name: our own module first, then an installed entry point."""

import glob
import importlib
import importlib.util
import os
import sys
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING

from ralph.agents._cards import load_builtin_cards
from ralph.agents._names import GENERIC_ADAPTER, extract_program_name, resolve_adapter_name
from ralph.model.agent_card import AgentCard
from ralph.model.errors import BrokenExtension, UnknownExtension

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

OLD_GROUPS = {"verifiers": ("ralph.gates",)}  # what packages of 0.1 register by; still heard
_KIND_WORDS = {
    "agents": "agent adapter",
    "guardrails": "guardrail kind",
    "sandboxes": "sandbox",
    "verifiers": "verification method",
}


def load_extension(kind: str, name: str) -> ModuleType:
    """The module `ralph.<kind>.<name>`, or what the entry-point group `ralph.<kind>` gives for that name."""
    if name.isidentifier() and not name.startswith("_") and importlib.util.find_spec(f"ralph.{kind}.{name}"):
        return importlib.import_module(f"ralph.{kind}.{name}")
    for entry in _entry_points(kind):
        if entry.name == name:
            return _load_entry_point(kind, entry)
    known = list_extensions(kind)
    raise UnknownExtension(
        f"no {_KIND_WORDS[kind]} named {name!r}; known: {', '.join(known)}", _suggest_name(name, known)
    )


def load_agent_card(adapter: str) -> AgentCard:
    """As its file says; someone else's adapter need not have one."""
    card: AgentCard = getattr(load_extension("agents", adapter), "CARD", AgentCard(title=adapter))
    return card


def load_agent_cards() -> dict[str, AgentCard]:
    """By the adapter's name: ours, and those of installed packages that can be loaded."""
    cards = dict(load_builtin_cards())
    for name in list_third_party_extensions("agents"):
        try:
            cards[name] = load_agent_card(name)
        except BrokenExtension:
            pass  # whoever names it is told
    return cards


def resolve_adapter(command: str) -> str:
    """The adapter a program's name stands for: ours, an installed package's, or the one for any command."""
    if (ours := resolve_adapter_name(command)) != GENERIC_ADAPTER:
        return ours
    name, theirs = extract_program_name(command), list_third_party_extensions("agents")
    if not theirs or name in theirs:
        return name if theirs else ours
    return next((adapter for adapter, card in load_agent_cards().items() if name in card.programs), ours)


def list_extensions(kind: str) -> list[str]:
    return sorted({*_builtin_names(kind), *_entry_point_names(kind)})


def list_third_party_extensions(kind: str) -> list[str]:
    return sorted(_entry_point_names(kind) - _builtin_names(kind))


def _load_entry_point(kind: str, entry: "EntryPoint") -> ModuleType:
    try:
        found: ModuleType = entry.load()
    except Exception as error:  # whatever the package of somebody else does when it is imported
        package = entry.dist.name if entry.dist else entry.module
        raise BrokenExtension(
            f"{_KIND_WORDS[kind]} {entry.name!r} of the package {package} cannot be loaded: {error}",
            f"try it: python -c 'import {entry.module}'",
        ) from error
    return found


def _suggest_name(name: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else "check the spelling, or install the package that brings it"


def _builtin_names(kind: str) -> set[str]:
    import pkgutil

    package = importlib.import_module(f"ralph.{kind}")
    return {module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")}


def _may_bring_extensions(folder: str) -> bool:
    """Whether a package there names an entry point of ours; of an archive nobody can tell without opening it."""
    if os.path.isfile(folder):
        return True
    for info in glob.iglob(os.path.join(glob.escape(folder or "."), "*-info", "entry_points.txt")):
        with suppress(OSError), open(info, "rb") as file:
            if b"[ralph." in file.read():
                return True
    return False


def _entry_point_names(kind: str) -> set[str]:
    return {entry.name for entry in _entry_points(kind)}


def _entry_points(kind: str) -> "list[EntryPoint]":
    if not any(map(_may_bring_extensions, sys.path)):
        return []
    from importlib.metadata import entry_points  # slow to import and to ask: every run would wait for it

    groups = (f"ralph.{kind}", *OLD_GROUPS.get(kind, ()))
    return [entry for group in groups for entry in entry_points(group=group)]
