"""Which isolation is in force: the one that was asked for, or the strongest that works on this machine."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from ralph.app import registry
from ralph.config.schema import SandboxSettings
from ralph.model.errors import MachineError
from ralph.model.ports import Processes, Sandbox
from ralph.model.sandbox import SandboxChoice, SandboxKind, SandboxPlan, SandboxProbe

STRONGEST_FIRST: tuple[SandboxKind, ...] = ("docker", "bubblewrap", "seatbelt", "agent")
HOST_WORDS = "host, no sandbox"


class SandboxBackend(Protocol):
    """What a module of `sandboxes/` exposes. Kinds it is found by: its own name."""

    def probe(self, variables: Mapping[str, str], processes: Processes) -> SandboxProbe:
        """Whether it works here; tried, not guessed. Bounded in time."""
        ...

    def build(self, plan: SandboxPlan, variables: Mapping[str, str], processes: Processes) -> Sandbox: ...


class Isolation(Struct, frozen=True, kw_only=True):
    """What was chosen. `kind` None: the host."""

    kind: SandboxKind | None = None
    passed_over: tuple[str, ...] = ()  # what was tried before it, and why it does not work here


def choose_sandbox(
    settings: SandboxSettings,
    *,
    may_do_everything: bool,
    adapters: Sequence[str],
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


def load_backend(kind: str) -> SandboxBackend:
    return registry.load_extension("sandboxes", kind)
