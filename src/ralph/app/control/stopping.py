"""Use case: end a `ralph execute` as a whole."""

import time
from typing import Literal, get_args

from ralph.app.control.targets import open_for_control
from ralph.app.control.tasks import is_execute_running
from ralph.app.paths import Paths
from ralph.model.errors import NoSuchRun

ExecuteEnd = Literal[
    "tasks",  # those at work are finished, none is started
    "agents",  # agents at work finish, no agent is started; tasks can be resumed
    "now",  # agents at work are stopped; their work is kept
]
EXECUTE_ENDS: tuple[ExecuteEnd, ...] = get_args(ExecuteEnd)


def stop_execute(places: Paths, how: ExecuteEnd) -> None:
    """Noticed within a second; this returns at once."""
    if not is_execute_running(places):
        raise NoSuchRun("no `ralph execute` is running here", "see `ralph status`")
    with open_for_control(places) as stores:
        stores.control.wish_execute_end(how, time.time())
