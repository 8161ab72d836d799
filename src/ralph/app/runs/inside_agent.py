"""Whether we were started by a run of ralph's own: an agent must not change what its work is judged by."""

import os
from collections.abc import Mapping

from msgspec.structs import replace

from ralph.app.paths import find_paths
from ralph.app.runs.recovery import is_run_alive
from ralph.app.stores import open_existing_stores
from ralph.model.errors import InsideAgent, RalphError

RUN_VARIABLE, STATE_VARIABLE = "RALPH_RUN_ID", "RALPH_STATE"


def find_enclosing_run(variables: Mapping[str, str]) -> str:
    """The run whose agent or guardrail started us, while it lives; else empty: the variable may outlive its run."""
    run, state = variables.get(RUN_VARIABLE, ""), variables.get(STATE_VARIABLE, "")
    if not run:
        return ""
    paths = find_paths(os.getcwd())
    try:
        with open_existing_stores(replace(paths, state=state) if state else paths) as stores:
            record = stores.runs.find_record(run) if stores else None
    except RalphError:
        return run  # an agent's sandbox may keep us from looking
    return run if record and record.ended_at is None and is_run_alive(record) else ""


def refuse_inside_agent(variables: Mapping[str, str], command: str) -> None:
    """For what would loosen the checks of a run, or touch what belongs to another."""
    if run := find_enclosing_run(variables):
        raise InsideAgent(
            f"`{command}` is not available inside run {run}: its agent may not change what it is judged by",
            "say in your answer what should be changed; the user can do it after the run",
        )
