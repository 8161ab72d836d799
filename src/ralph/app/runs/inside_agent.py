"""Whether we were started by a run of ralph's own: an agent must not change what its work is judged by."""

import os
from collections.abc import Mapping

from msgspec import Struct

from ralph.app.paths import Paths, find_paths
from ralph.app.runs.living_runs import list_living_runs
from ralph.app.runs.recovery import is_run_alive
from ralph.app.stores import open_existing_stores
from ralph.model.errors import InsideAgent, RalphError
from ralph.process.identity import list_ancestors

RUN_VARIABLE = "RALPH_RUN_ID"
OWN_CHECKS_REASON = "its agent must not change what it is judged by"
STEERING_REASON = "its agent must not control runs"
OTHER_TASKS_REASON = "its agent may create tasks but not change them"


class EnclosingRun(Struct, frozen=True):
    """The run we are inside of, and the task it works on."""

    run: str
    task: str = ""


def find_enclosing_run(variables: Mapping[str, str]) -> str:
    """The run whose agent or guardrail started us, while it lives; else empty: the variable may outlive its run."""
    found = find_enclosing(variables)
    return found.run if found else ""


def find_enclosing(variables: Mapping[str, str]) -> EnclosingRun | None:
    """By the variable, or by the processes we descend from: a variable is easily taken away."""
    paths, run = find_paths(os.getcwd()), variables.get(RUN_VARIABLE, "")
    ancestors, known = set(list_ancestors()), list_living_runs(paths, variables)
    named = [living for living in known if living.run == run]
    held = [living for living in known if living.guardian in ancestors]  # nearer than the process: that has many tasks
    for living in (*named, *held, *(living for living in known if living.pid in ancestors)):
        return EnclosingRun(living.run, living.task)
    try:
        return _find_in_repository(paths, run, ancestors)
    except RalphError:
        return EnclosingRun(run) if run else None  # an agent's sandbox may keep us from looking


def refuse_inside_agent(variables: Mapping[str, str], command: str, reason: str = OWN_CHECKS_REASON) -> None:
    """For what would loosen the checks of a run, or touch what belongs to another."""
    if run := find_enclosing_run(variables):
        raise InsideAgent(
            f"`{command}` is not available inside run {run}: {reason}",
            "say in your answer what should be changed; the user can do it after the run",
        )


def _find_in_repository(paths: Paths, run: str, ancestors: set[int]) -> EnclosingRun | None:
    """Where nobody could announce it. The repository's own runs are known by its database."""
    with open_existing_stores(paths) as stores:
        for record in stores.runs.list_unfinished() if stores else ():
            if (record.id == run or ancestors & {record.pid, record.guardian}) and is_run_alive(record):
                return EnclosingRun(record.id, record.task)
    return None
