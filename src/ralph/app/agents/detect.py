"""Which coding agents are on PATH. Starts nothing."""

from collections.abc import Mapping

from msgspec import Struct

from ralph.app import registry
from ralph.model.agent_card import AgentCard
from ralph.process.shell import find_program


class DetectedAgent(Struct, frozen=True):
    """A coding agent on PATH."""

    name: str  # of its program
    path: str
    card: AgentCard


def detect_agent(environment: Mapping[str, str], folder: str = ".") -> DetectedAgent | None:
    """The first that can be started, in the order of their cards."""
    for program, card in _list_detectable():
        if path := find_program(program, environment, folder):
            return DetectedAgent(program, path, card)
    return None


def list_detectable_agents() -> tuple[str, ...]:
    """The programs that are looked for, in this order."""
    return tuple(program for program, _ in _list_detectable())


def suggest_installation() -> str:
    """The command that installs the first of them."""
    return next((card.install for _, card in _list_detectable() if card.install), "")


def _list_detectable() -> list[tuple[str, AgentCard]]:
    found = [(card.detect_order, name, card) for name, card in registry.load_agent_cards().items() if card.detect_order]
    return [
        (program, card)
        for _, name, card in sorted(found, key=lambda each: each[:2])
        for program in card.programs or (name,)
    ]
