"""Use case: which agents there are, which of them are here, and what is known of each."""

from collections.abc import Mapping

from msgspec import Struct

from ralph.app import registry
from ralph.app.processes import open_short_lived_processes
from ralph.app.wiring import read_version
from ralph.model.agent_card import AgentCard
from ralph.model.errors import BrokenExtension
from ralph.model.ports import Processes
from ralph.process.shell import find_program

BUILTIN_AGENT = "scripted"
COMMAND_ADAPTER = "command"


class KnownAgent(Struct, frozen=True, kw_only=True):
    """One agent."""

    name: str
    card: AgentCard
    path: str = ""  # empty: not on PATH
    version: str = ""


def list_agents(folder: str, variables: Mapping[str, str]) -> tuple[KnownAgent, ...]:
    """All that have an adapter; those that are found are asked for their version."""
    with open_short_lived_processes() as processes:
        return tuple(_describe_agent(name, folder, variables, processes) for name in registry.list_extensions("agents"))


def _describe_agent(name: str, folder: str, variables: Mapping[str, str], processes: Processes) -> KnownAgent:
    try:
        card = registry.load_agent_card(name)
    except BrokenExtension as error:
        lost = AgentCard(title=name, streaming=False, tools=False, verified=f"cannot be loaded: {error.__cause__}")
        return KnownAgent(name=name, card=lost)
    path = "" if name in (BUILTIN_AGENT, COMMAND_ADAPTER) else find_agent_program(name, card, folder, variables)
    version = read_version((path, "--version"), folder, variables, processes) if path else ""
    return KnownAgent(name=name, card=card, path=path, version=version)


def find_agent_program(adapter: str, card: AgentCard, folder: str, variables: Mapping[str, str]) -> str:
    """Where it is; empty: not on PATH."""
    found = (find_program(name, variables, folder) for name in card.programs or (adapter,))
    return next((path for path in found if path), "")
