"""Runs that an agent of another run started: the parent waits for them and spares their processes."""

from collections.abc import Mapping
from contextlib import suppress

from msgspec.structs import replace

from ralph.app.paths import Paths
from ralph.app.runs.living_runs import find_living_run
from ralph.app.stores import open_existing_stores
from ralph.model.errors import MachineError
from ralph.model.runs import RunOwner
from ralph.model.store_ports import AttemptStore
from ralph.model.supervised import ChildRun
from ralph.process.guardian import list_children, list_descendants
from ralph.process.identity import ProcessIdentity, identify_process, is_alive
from ralph.process.leftovers import wait_for_exec


def list_active_children(attempts: AttemptStore, run: str, guardian: int) -> list[ChildRun]:
    """Runs that its agents started and whose process lives, those included that have only begun to start: between two
    agents the guardian holds nothing else."""
    known = _list_registered_children(attempts, run)
    pids = {child.pid for child in known}
    starting = [pid for pid in list_children(guardian) if not pids.intersection((pid, *list_descendants(pid)))]
    found = ((pid, identify_process(pid)) for pid in starting)
    return known + [
        ChildRun(parent=run, run=f"starting, pid {pid}", pid=pid, ticks=who.ticks, boot=who.boot, guardian=0)
        for pid, who in found
        if who is not None
    ]


def _list_registered_children(attempts: AttemptStore, run: str) -> list[ChildRun]:
    return [c for c in attempts.list_children(run) if is_alive(ProcessIdentity(c.pid, c.ticks, c.boot))]


def list_spared_pids(attempts: AttemptStore, run: str, guardian: int) -> list[int]:
    """They may outlive the agent that started them, and so must their guardians. The guardian itself knows those that
    have only begun to start."""
    wait_for_exec(guardian, [child.pid for child in _list_registered_children(attempts, run)])
    children = _list_registered_children(attempts, run)
    return [pid for child in children for pid in (child.pid, child.guardian) if pid]


def find_parent_run(variables: Mapping[str, str]) -> str | None:
    """The run whose agent started us."""
    return variables.get("RALPH_RUN_ID") or None


def register_with_parent(run: str, owner: RunOwner, paths: Paths, variables: Mapping[str, str]) -> None:
    """In the parent's own database, so that it waits for us; one that cannot be written is not our business."""
    parent = find_parent_run(variables)
    if not parent:
        return
    living = find_living_run(parent, paths, variables)
    state = living.state if living else paths.state
    child = ChildRun(parent=parent, run=run, pid=owner.pid, ticks=owner.ticks, boot=owner.boot, guardian=owner.guardian)
    with suppress(MachineError), open_existing_stores(replace(paths, state=state)) as stores:
        if stores is not None and stores.runs.find_record(parent) is not None:
            stores.attempts.add_child(child)
