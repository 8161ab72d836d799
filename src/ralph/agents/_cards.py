"""The cards of all adapters in this package."""

import importlib
import pkgutil
from functools import cache

import ralph.agents
from ralph.model.agent_card import AgentCard


@cache
def load_builtin_cards() -> dict[str, AgentCard]:
    """By the adapter's name. Whoever adds a file to this package adds its card, and nothing else anywhere."""
    names = [module.name for module in pkgutil.iter_modules(ralph.agents.__path__) if not module.name.startswith("_")]
    return {name: importlib.import_module(f"ralph.agents.{name}").CARD for name in names}
