"""Who a run is: its id, the process that answers for it, the names people steer it by."""

import os
import time

from ralph.model.control import WHOLE_EXECUTE, Subject
from ralph.model.runs import RunOwner
from ralph.process.identity import identify_process, identify_self


def make_run_id() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}"


def identify_owner(guardian: int) -> RunOwner:
    """Who answers for a run: this process, and the guardian of its children."""
    me, held_by = identify_self(), identify_process(guardian)
    return RunOwner(
        pid=me.pid,
        ticks=me.ticks,
        boot=me.boot,
        guardian=guardian,
        guardian_ticks=held_by.ticks if held_by else 0,
        host=me.host,
        pid_namespace=me.pid_namespace,
    )


def name_subjects(run: str, kind: str, task: str) -> tuple[Subject, ...]:
    """What people steer a run by: a task of the board keeps its pauses and notes from one run to the next."""
    return (Subject("task", task), WHOLE_EXECUTE) if kind == "execute" else (Subject("run", run),)
