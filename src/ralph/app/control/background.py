"""Use case: a command goes on in the background."""

import os
import sys
import time
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.run_identity import make_run_id
from ralph.app.runs.living_runs import list_living_runs
from ralph.app.stores import open_existing_stores
from ralph.core.text.write_error import explain_write_error
from ralph.process.detached import read_exit, start_detached

MAX_START_SECONDS = 10.0
MAX_RUNS_SINCE = 20  # that others may have started meanwhile
CLOCK_SLACK_SECONDS = 1.0
_POLL_SECONDS = 0.1


class BackgroundStart(Struct, frozen=True, kw_only=True):
    """How it began: on its way, with its run where that is on record, or over already."""

    pid: int
    log: str
    run: str = ""
    is_elsewhere: bool = False  # the run keeps its state in another place than ours
    exit_code: int | None = None


def start_in_background(
    words: Sequence[str], paths: Paths, variables: Mapping[str, str], folder: str = ""
) -> BackgroundStart:
    """The same ralph with these words, there or in our own folder; waited for until its run is on record, or until it
    has ended."""
    log = os.path.join(paths.state, "background", f"{make_run_id()}.log")
    try:
        os.makedirs(os.path.dirname(log), exist_ok=True)
        pid = start_detached((sys.executable, "-m", "ralph", *words), variables, log, folder)
    except OSError as error:
        raise explain_write_error(log, error) from error
    began, since = time.monotonic(), time.time()
    while time.monotonic() - began < MAX_START_SECONDS:
        if (code := read_exit(pid)) is not None:
            return BackgroundStart(pid=pid, log=log, run=_find_run_of(pid, paths, since), exit_code=code)
        if run := _find_run_of(pid, paths, since):
            return BackgroundStart(pid=pid, log=log, run=run)
        if run := _find_run_elsewhere(pid, paths, variables):
            return BackgroundStart(pid=pid, log=log, run=run, is_elsewhere=True)
        time.sleep(_POLL_SECONDS)
    return BackgroundStart(pid=pid, log=log)


def _find_run_of(pid: int, paths: Paths, since: float) -> str:
    """Its newest; one that was quick may have ended. Another process may have had that pid before."""
    with open_existing_stores(paths) as stores:
        found = [*stores.runs.list_unfinished(), *stores.runs.list_latest(MAX_RUNS_SINCE)] if stores else []
    return next((each.id for each in found if each.pid == pid and each.changed_at >= since - CLOCK_SLACK_SECONDS), "")


def _find_run_elsewhere(pid: int, paths: Paths, variables: Mapping[str, str]) -> str:
    """A supervised task has its runs on record in its own folder, wherever that is; but they announce themselves."""
    running = list_living_runs(paths, variables)
    return next((each.run for each in running if each.pid == pid and each.state != paths.state), "")
