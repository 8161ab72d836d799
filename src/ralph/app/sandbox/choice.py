"""Which isolation is in force: the one that was asked for, or the strongest that works on this machine."""

import sys
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from ralph.app import registry
from ralph.config.schema import AgentSettings, SandboxSettings, Settings
from ralph.model.errors import MachineError, UnknownExtension
from ralph.model.ports import Processes, Sandbox
from ralph.model.sandbox import SandboxChoice, SandboxKind, SandboxPlan, SandboxProbe
from ralph.model.spec import ROLES

STRONGEST_FIRST: tuple[SandboxKind, ...] = ("docker", "bubblewrap", "seatbelt", "agent")
WITHOUT_COPIES = frozenset({"seatbelt", "agent"})  # they cannot put a copy in the place of the work tree
_MAC_TITLES = {"docker": "Docker Sandbox", "seatbelt": "Seatbelt"}
HOST_WORDS = "no sandbox"
CONTAINED_VARIABLE = "RALPH_CONTAINED"  # set inside: what ralph would call the host there is a sandbox already


class SandboxBackend(Protocol):
    """What a module of `sandboxes/` exposes. Kinds it is found by: its own name."""

    def probe(self, variables: Mapping[str, str], processes: Processes) -> SandboxProbe:
        """Whether it works here; tried, not guessed. Bounded in time."""
        ...

    def build(self, plan: SandboxPlan, variables: Mapping[str, str], processes: Processes) -> Sandbox: ...


class NotIsolated(MachineError):
    """An agent that may do everything would have this machine, and nobody said yes."""

    code = "not_isolated"


class Isolation(Struct, frozen=True, kw_only=True):
    """What was chosen. `kind` None: the host."""

    kind: SandboxKind | None = None
    passed_over: tuple[str, ...] = ()  # what was tried before it, and why it does not work here

    def describe_passed_over(self, platform: str = sys.platform) -> str:
        """For the first line, in short: `ralph doctor` has the reasons."""
        titles = {"docker": "Docker Sandbox", "bubblewrap": "bubblewrap"} if platform != "darwin" else _MAC_TITLES
        kinds = [each.partition(":")[0] for each in self.passed_over]
        return ", ".join(f"no {titles[kind]}" for kind in kinds if kind in titles)


def settle_isolation(
    settings: Settings, variables: Mapping[str, str], *, wants_everything: bool = False
) -> tuple[Settings, Isolation]:
    """Before a run: where it will run, and its settings for there. In a sandbox the agent may do everything, unless
    settings say otherwise. `wants_everything`: this loop cannot do with less. NotIsolated: somebody has to say yes."""
    agents = (settings.agent, *settings.agent.substitutes.values())
    everything = wants_everything or any(agent.permissions == "all" for agent in agents)
    wanted = settings.sandbox.kind or ("auto" if everything else "none")
    if wanted == "none" or (wanted == "auto" and variables.get(CONTAINED_VARIABLE)):
        return settings, Isolation()
    from ralph.app.processes import open_short_lived_processes

    with open_short_lived_processes() as processes:

        def probe(kind: SandboxKind) -> SandboxProbe:
            if kind == "agent" and (title := _find_agent_without(settings)):
                return SandboxProbe(problem=f"{title} has no own sandbox")
            return probe_backend(kind, variables, processes, unasked=wanted == "auto")

        isolation = choose_sandbox(settings.sandbox, may_do_everything=everything, probe=probe)
    if isolation.kind is None and everything:
        raise NotIsolated(
            "the agent has all permissions, and no sandbox is available: " + "; ".join(isolation.passed_over),
            "install one (see `ralph doctor`), or run directly on this machine with --no-sandbox or"
            ' "sandbox": "none" in the settings',
        )
    if isolation.kind is not None:
        settings = replace(settings, agent=_permit_everything(settings.agent))
    return settings, isolation


def _permit_everything(agent: AgentSettings) -> AgentSettings:
    """Unless settings say less."""
    others = {name: _permit_everything(other) for name, other in agent.substitutes.items()}
    return replace(agent, permissions=agent.permissions or "all", substitutes=others)


def _find_agent_without(settings: Settings) -> str:
    """The first agent of these settings that has no own sandbox."""
    stages = (getattr(settings.specflow, role).agent for role in ROLES)
    for command in filter(None, (settings.agent.command, *stages)):
        adapter = settings.agent.adapter or registry.resolve_adapter(command)
        if not (card := registry.load_agent_card(adapter)).has_own_sandbox:
            return card.title
    return ""


def probe_backend(
    kind: SandboxKind, variables: Mapping[str, str], processes: Processes, *, unasked: bool = False
) -> SandboxProbe:
    """`unasked`: for `auto`; a backend may then leave out what it takes only when asked for."""
    try:
        backend = load_backend(kind)
        probe: Callable[..., SandboxProbe] = (
            getattr(backend, "probe_unasked", backend.probe) if unasked else backend.probe
        )
        return probe(variables, processes)
    except UnknownExtension:
        return SandboxProbe(problem="ralph cannot use it yet")


def choose_sandbox(
    settings: SandboxSettings,
    *,
    may_do_everything: bool,
    probe: Callable[[SandboxKind], SandboxProbe],
) -> Isolation:
    """By what was asked for; without a word, a sandbox for agents that may do everything. An explicit wish never falls
    back: MachineError says how to get what is missing."""
    wanted: SandboxChoice = settings.kind or ("auto" if may_do_everything else "none")
    if wanted == "none":
        return Isolation()
    kinds = STRONGEST_FIRST if wanted == "auto" or wanted == "any" else (wanted,)  # for mypy
    passed_over: list[str] = []
    hints: list[str] = []
    asked_for: SandboxKind | None = None  # by "any": weaker than what comes before the agent's own sandbox
    for kind in kinds:
        if kind == "agent" and asked_for and wanted == "any":
            break
        found = probe(kind)
        if found.is_available and (kind == wanted or not found.needs_asking):
            return Isolation(kind=kind, passed_over=tuple(passed_over))
        if found.is_available:
            asked_for = kind
        passed_over.append(f"{kind}: {found.problem or 'only when asked for'}")
        hints += [found.hint] if found.hint else []
    if wanted == "any" and asked_for:
        return Isolation(kind=asked_for, passed_over=tuple(passed_over))
    if wanted == "auto":
        return Isolation(passed_over=tuple(passed_over))
    words = f"the sandbox {wanted!r} is not available" if wanted != "any" else "no sandbox is available"
    raise MachineError(f"{words} on this machine: {'; '.join(passed_over)}", "; ".join((*hints, "or: --no-sandbox")))


def describe_host(platform: str = sys.platform) -> str:
    """For the first line; on macOS orphans cannot be adopted, and who starts a run shall know."""
    return f"{HOST_WORDS}; processes that leave their group may outlive the run" if platform == "darwin" else HOST_WORDS


def load_backend(kind: str) -> SandboxBackend:
    return registry.load_extension("sandboxes", kind)
