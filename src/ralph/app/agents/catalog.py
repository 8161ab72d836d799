"""Use case: which agents there are, which of them are here, and what is known of each."""

from collections.abc import Mapping
from types import ModuleType

from msgspec import Struct

from ralph.app import registry
from ralph.app.processes import errand
from ralph.app.wiring import version_of
from ralph.model.agent_card import Traits
from ralph.model.ports import Processes
from ralph.process.shell import find_program

PART_OF_US = "scripted"
ANY = "command"


class Known(Struct, frozen=True):
    """One agent."""

    name: str
    traits: Traits
    checkable: bool  # it can be pointed at the scripted model
    path: str = ""  # empty: not on PATH
    version: str = ""


def known(folder: str, variables: Mapping[str, str]) -> tuple[Known, ...]:
    """All that have an adapter; those that are found are asked for their version."""
    with errand() as processes:
        return tuple(_known(name, folder, variables, processes) for name in registry.names("agents"))


def traits_of(name: str, adapter: ModuleType) -> Traits:
    """As its file tells them; someone else's adapter need not."""
    found: Traits = getattr(adapter, "TRAITS", Traits(name))
    return found


def _known(name: str, folder: str, variables: Mapping[str, str], processes: Processes) -> Known:
    adapter = registry.load("agents", name)
    told = Known(name, traits_of(name, adapter), hasattr(adapter, "pointed_at"))
    path = "" if name in (PART_OF_US, ANY) else find_program(name, variables, folder) or ""
    version = version_of((path, "--version"), folder, variables, processes) if path else ""
    return Known(told.name, told.traits, told.checkable, path, version)
