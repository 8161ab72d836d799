"""Use cases: end what runs, gently or now. Its work is kept."""

import time
from collections.abc import Mapping
from typing import Literal

from ralph.app.control.targets import Target, find_target, open_for_control
from ralph.app.control.tasks import is_execute_running
from ralph.app.paths import Paths
from ralph.app.runs.inside_agent import STEERING_REASON, find_enclosing_run
from ralph.model.control import WHOLE_EXECUTE
from ralph.model.errors import InsideAgent, NoSuchRun, RalphError

ExecuteEnd = Literal[
    "tasks",  # those at work are finished, none is started
    "agents",  # agents at work finish, no agent is started; tasks can be resumed
    "now",  # agents at work are stopped; their work is kept
]


def stop_execute(places: Paths, how: ExecuteEnd) -> None:
    """A `ralph execute` as a whole. Noticed within a second; this returns at once."""
    if not is_execute_running(places):
        raise NoSuchRun("no `ralph execute` is running here", "see `ralph status`")
    with open_for_control(places) as stores:
        stores.control.wish_execute_end(how, time.time())


def stop_gently(places: Paths, name: str) -> Target:
    """After its current step: a run, or without a name what is running. A task of `ralph execute` is no run of its own:
    all of it ends, after the agents at work. This returns at once."""
    with open_for_control(places) as stores:
        target = find_target(stores, name)
        if not target.is_running:
            raise NoSuchRun(f"{target.name} is not running", "see `ralph status`")
        if target.subject.kind == "run":
            stores.runs.add_wish(target.subject.name, "stop", time.time())
        else:
            stores.control.wish_execute_end("agents", time.time())
        return target


def is_whole_execute(places: Paths, name: str) -> bool:
    """Whether the name, or its absence, stands for several tasks of one `ralph execute`."""
    if name:
        return False
    with open_for_control(places) as stores:
        try:
            return find_target(stores, "").subject == WHOLE_EXECUTE
        except RalphError:
            return False


def refuse_ending_others(places: Paths, name: str, variables: Mapping[str, str], command: str) -> None:
    """An agent may end what it started itself, and nothing else."""
    run = find_enclosing_run(variables)
    if not run:
        return
    with open_for_control(places) as stores:
        record = stores.runs.find_record(name) if name else None
    if record is None or record.parent != run:
        hint = "name a run that you started yourself"
        raise InsideAgent(f"`{command}` is not available inside run {run}: {STEERING_REASON}", hint)
