"""The agent's own sandbox: nothing is wrapped, its adapter tells the agent to keep its commands within bounds."""

import sys
from collections.abc import Mapping

from ralph.model.command import Command
from ralph.model.ports import Processes, Sandbox
from ralph.model.sandbox import SandboxKind, SandboxPlan, SandboxProbe
from ralph.process.shell import find_program
from ralph.sandboxes import bubblewrap
from ralph.sandboxes._copies import refuse_copies


class OwnSandbox:
    """Implements the port `Sandbox`; what it promises is the agent's promise."""

    kind: SandboxKind = "agent"

    def __init__(self, titles: tuple[str, ...]) -> None:
        self._titles = titles

    def describe(self) -> str:
        whose = " and ".join(self._titles) or "the agent"
        return f"{whose}'s own sandbox, for its commands; checks run on the host"

    def wrap(self, command: Command) -> Command:
        refuse_copies(command, "an agent's own sandbox")
        return command

    def close(self) -> None:
        pass


def probe(variables: Mapping[str, str], processes: Processes, platform: str = sys.platform) -> SandboxProbe:
    """Agents build theirs from the same parts as we do."""
    if platform == "darwin":
        return SandboxProbe(version="Seatbelt")
    missing = [name for name in ("bwrap", "socat") if find_program(name, variables) is None]
    if not missing:
        found = bubblewrap.probe(variables, processes)
        return SandboxProbe(problem=found.problem, hint=found.hint, version="bubblewrap")
    return SandboxProbe(
        problem=f"agents' own sandboxes need {' and '.join(missing)}", hint="apt install bubblewrap socat"
    )


def build(plan: SandboxPlan, variables: Mapping[str, str], processes: Processes) -> Sandbox:
    return OwnSandbox(tuple(card.title for card in plan.cards))
