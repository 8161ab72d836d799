"""Use cases: pause what runs, and lift the pause. It takes effect before the next agent, and outlives the process."""

import time

from ralph.app.control.targets import Target, build_run_target, find_target, list_running, open_for_control
from ralph.app.control.tasks import is_execute_running
from ralph.app.paths import Paths
from ralph.model.control import WHOLE_EXECUTE, PauseRecord
from ralph.model.errors import NoSuchRun, UsageError
from ralph.model.store_ports import Stores


def pause(places: Paths, name: str, *, by: str, now: bool = False) -> Target:
    """No agent of it starts until somebody resumes it. `now`: an agent at work is stopped at once; its work is kept.
    Without a name: what is running. A task that waits for its turn can be paused, too."""
    with open_for_control(places) as stores:
        target = find_target(stores, name)
        _refuse_ended(target)
        earlier = stores.control.find_pause(target.subject)
        if earlier is None or (now and not earlier.now):
            stores.control.pause(PauseRecord(subject=target.subject, by=by, at=time.time(), now=now))
        return target


def lift_pause(places: Paths, name: str) -> Target | None:
    """Agents may start again. None: it is not paused. Without a name: what is paused, if that is one thing."""
    with open_for_control(places) as stores:
        target = find_target(stores, name) if name else _find_only_paused(stores)
        if target is None:
            return None
        if stores.control.lift(target.subject):
            return target
        if target.subject.kind == "task" and (whole := stores.control.find_pause(WHOLE_EXECUTE)):
            what = f"all of `ralph execute` is paused, by {whole.by}, and {target.name} with it"
            raise UsageError(what, "resume all: `ralph resume`")
        return None


def pause_execute(places: Paths, *, by: str, now: bool = False) -> Target:
    """All tasks of the `ralph execute` that runs here, however many it works on."""
    if not is_execute_running(places):
        raise NoSuchRun("no `ralph execute` is running here", "see `ralph status`")
    with open_for_control(places) as stores:
        stores.control.pause(PauseRecord(subject=WHOLE_EXECUTE, by=by, at=time.time(), now=now))
    return Target(subject=WHOLE_EXECUTE, is_running=True)


def lift_execute_pause(places: Paths) -> Target:
    """Agents of all tasks may start again, but for those that are paused by themselves."""
    with open_for_control(places) as stores:
        if not stores.control.lift(WHOLE_EXECUTE):
            raise UsageError("`ralph execute` is not paused as a whole", "resume the tasks that are paused, by name")
    return Target(subject=WHOLE_EXECUTE, is_running=is_execute_running(places))


def is_still_paused(places: Paths, target: Target) -> bool:
    """Whether all of `ralph execute` is paused, and this task with it."""
    with open_for_control(places) as stores:
        return target.subject.kind == "task" and stores.control.find_pause(WHOLE_EXECUTE) is not None


def refuse_resuming_at_work(places: Paths, name: str) -> None:
    """What is running, and neither paused nor waiting for a limit, has nothing to be resumed for."""
    with open_for_control(places) as stores:
        found = stores.runs.find_record(name) if name else None
        running = [run for run in list_running(stores) if found is None or run.id == found.id]
        if (found is not None or not name) and len(running) == 1 and running[0].doing not in ("wait", "pause"):
            what = f"run {running[0].id} is running, and neither paused nor waiting"
            raise UsageError(what, "follow it with: ralph logs -f")


def _refuse_ended(target: Target) -> None:
    if target.task is not None:
        if target.task.task.status in ("done", "cancelled"):
            raise UsageError(f"task {target.name!r} is {target.task.task.status}", "there is nothing to pause")
    elif target.run is not None and not target.is_running:
        raise NoSuchRun(f"run {target.name} has ended", "there is nothing to pause; see `ralph status`")


def _find_only_paused(stores: Stores) -> Target | None:
    pauses = stores.control.list_pauses()
    if not pauses:
        return None
    if any(found.subject == WHOLE_EXECUTE for found in pauses):
        return Target(subject=WHOLE_EXECUTE, is_running=True)
    running = {target.subject for target in (build_run_target(stores, run) for run in list_running(stores))}
    chosen = [found for found in pauses if found.subject in running] or pauses
    if len(chosen) > 1:
        names = ", ".join(found.subject.name for found in chosen)
        raise UsageError("more than one is paused", f"name the one to resume: {names}")
    return find_target(stores, chosen[0].subject.name)
