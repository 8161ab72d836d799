"""Use case: which agents there are, which of them are here, and what is known of each."""

from collections.abc import Mapping
from types import ModuleType

from msgspec import Struct

from ralph.app import registry
from ralph.app.processes import open_short_lived_processes
from ralph.app.wiring import read_version
from ralph.model.agent_card import AgentCard
from ralph.model.ports import Processes
from ralph.process.shell import find_program

BUILTIN_AGENT = "scripted"
COMMAND_ADAPTER = "command"


class KnownAgent(Struct, frozen=True, kw_only=True):
    """One agent."""

    name: str
    traits: AgentCard
    checkable: bool  # it can be pointed at the scripted model
    path: str = ""  # empty: not on PATH
    version: str = ""


def list_agents(folder: str, variables: Mapping[str, str]) -> tuple[KnownAgent, ...]:
    """All that have an adapter; those that are found are asked for their version."""
    with open_short_lived_processes() as processes:
        return tuple(_describe_agent(name, folder, variables, processes) for name in registry.list_extensions("agents"))


def read_capabilities(name: str, adapter: ModuleType) -> AgentCard:
    """As its file tells them; someone else's adapter need not."""
    found: AgentCard = getattr(adapter, "CARD", AgentCard(title=name))
    return found


def _describe_agent(name: str, folder: str, variables: Mapping[str, str], processes: Processes) -> KnownAgent:
    adapter = registry.load_extension("agents", name)
    told = KnownAgent(
        name=name, traits=read_capabilities(name, adapter), checkable=hasattr(adapter, "configure_endpoint")
    )
    path = "" if name in (BUILTIN_AGENT, COMMAND_ADAPTER) else find_program(name, variables, folder) or ""
    version = read_version((path, "--version"), folder, variables, processes) if path else ""
    return KnownAgent(name=told.name, traits=told.traits, checkable=told.checkable, path=path, version=version)
