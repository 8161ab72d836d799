"""Which sandboxes work on this machine."""

from collections.abc import Mapping
from typing import get_args

from msgspec.structs import replace

from ralph.app.processes import open_short_lived_processes
from ralph.app.sandbox.choice import choose_sandbox, probe_backend
from ralph.config.schema import SandboxSettings
from ralph.model.errors import MachineError
from ralph.model.sandbox import SandboxChoice, SandboxKind, SandboxProbe


def list_sandboxes(variables: Mapping[str, str]) -> dict[SandboxKind, SandboxProbe]:
    """Each is tried."""
    with open_short_lived_processes() as processes:
        return {kind: probe_backend(kind, variables, processes) for kind in get_args(SandboxKind)}


def choose_working_sandbox(settings: SandboxSettings, kind: str | None, variables: Mapping[str, str]) -> SandboxKind:
    """The one asked for, the one settings name, else the strongest of ours; MachineError where it does not work."""
    named = kind or settings.kind
    wanted: SandboxChoice = (
        "any"
        if named in (None, "auto", "none")
        else next(choice for choice in get_args(SandboxChoice) if choice == named)
    )
    with open_short_lived_processes() as processes:

        def probe(kind: SandboxKind) -> SandboxProbe:
            if kind == "agent":  # it wraps nothing: there is no inside to look from
                return SandboxProbe(problem="it contains only what the agent itself starts")
            return probe_backend(kind, variables, processes)

        chosen = choose_sandbox(replace(settings, kind=wanted), may_do_everything=True, probe=probe).kind
    if chosen is None:
        raise MachineError("no sandbox is available on this machine", "see `ralph sandbox list`")
    return chosen
