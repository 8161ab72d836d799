"""Use case: restart an agent on a task until its DONE mark is there."""

import os
import time
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.app import wiring
from ralph.app.paths import Paths, find_paths
from ralph.app.session import Callbacks, Session, find_parent_run, lock_and_open, make_run_id, open_session
from ralph.app.supervise.bus_watcher import BusWatcher
from ralph.app.supervise.dependencies import find_unmet_dependencies, read_task_dependencies
from ralph.config.schema import AgentSettings
from ralph.core.policies.done_file import DoneFilePolicy, DoneFileState
from ralph.core.step import Rules
from ralph.engine import kernel
from ralph.engine.clock import Clock
from ralph.engine.journal import Journal
from ralph.engine.loops.supervise import SuperviseEffects
from ralph.engine.loops.supervise_attempt import AttemptRunner
from ralph.engine.loops.supervise_marks import TaskMarks
from ralph.model.errors import UsageError
from ralph.model.loop import Began, Limits, Outcome, Stop
from ralph.model.ports import Watcher
from ralph.model.supervised import TASK_FILE, AttemptRecord, ChildRun, TaskPaths
from ralph.process.identity import ProcessIdentity, is_alive
from ralph.process.spawner import GuardianHandle
from ralph.stores import attempts
from ralph.stores.attempts import AttemptStore
from ralph.stores.runs import NewRun

KIND = "supervise"


class SuperviseRequest(Struct, frozen=True, kw_only=True):
    """How a task is supervised."""

    place: TaskPaths
    agent: AgentSettings
    words: tuple[str, ...] = ()  # a command instead of the agent that settings name
    max_restarts: int = 100
    restart_delay: float = 1.0
    wait_timeout: float = 300.0
    poll_interval: float = 1.0
    max_time: float | None = None
    budget_usd: float | None = None
    snapshots: bool = True


def supervise_task(
    request: SuperviseRequest,
    places: Paths,
    *,
    variables: Mapping[str, str],
    guardian: GuardianHandle | None,
    wishes: Callbacks,
) -> Stop:
    """Until DONE, the last restart, a wait, a fatal error or an interruption. `places` are the task's own."""
    place = request.place
    if not os.path.isfile(place.path(TASK_FILE)) and not os.path.exists(place.path("DONE")):
        raise UsageError(f"there is no {TASK_FILE} in {place.folder}", "write the task into it")
    needs = read_task_dependencies(place)
    here = os.getcwd()
    crew = (
        wiring.locate_agent(request.words, (), adapter="command", folder=here, variables=variables)
        if request.words
        else wiring.resolve_agent(request.agent, here, variables)
    )
    wiring.refuse_unenforceable_budget(crew, request.budget_usd)
    run = make_run_id()
    with lock_and_open(places, places.lock_for(place.folder), run) as stores:
        records = stores[1]
        with open_session(
            run,
            places,
            stores=stores,
            guardian=guardian,
            wishes=wishes,
            variables=variables,
            spared=lambda: _list_spared_pids(records, run),
        ) as stage:
            record, now = msgspec.json.encode(request), time.time()
            parent = find_parent_run(variables)
            stage.runs.begin(
                NewRun(
                    id=run,
                    kind=KIND,
                    folder=place.folder,
                    agent=crew.adapter,
                    request=record,
                    owner=stage.owner,
                    started_at=now,
                    parent=parent,
                    task=place.task,
                )
            )
            return _run_loop(run, request, places=places, variables=variables, crew=crew, stage=stage, needs=needs)


def _run_loop(
    run: str,
    request: SuperviseRequest,
    *,
    places: Paths,
    variables: Mapping[str, str],
    crew: wiring.AgentCommand,
    stage: Session,
    needs: tuple[str, ...],
) -> Stop:
    place, agent = request.place, request.agent
    bus = BusWatcher(place)
    watchers: Sequence[Watcher] = (*stage.watchers, bus)
    marks = TaskMarks(place, bus.read_wait_request, lambda: find_unmet_dependencies(place, needs))
    parent = find_parent_run(variables) or ""

    def record(attempt: AttemptRecord) -> None:
        stage.attempts.save(attempt)
        attempts.write_run_info(attempt, place.task, crew.adapter, parent)

    def begun(attempt: AttemptRecord) -> None:
        marks.agent_started_at = attempt.started_at
        bus.announce_attempt(attempt)

    own = wiring.build_run_variables(run, place.folder, places.state)
    made = wiring.prepare_agent(crew, os.getcwd(), variables, stage.supervisor)
    keep = wiring.build_snapshots(
        request.snapshots,
        run,
        tree=find_paths(os.getcwd()),
        records=places.run_dir(run),
        variables=variables,
        processes=stage.supervisor,
    )
    attempt = AttemptRunner(
        run,
        place,
        caller=wiring.build_agent_runner(
            made,
            crew,
            settings=agent,
            folder=os.getcwd(),
            variables=variables,
            own=own,
            processes=stage.supervisor,
            keep=keep,
        ),
        mode="stream",
        inbox=stage.inbox,
        watchers=watchers,
        record=record,
        begun=begun,
        guardian=lambda: stage.supervisor.guardian_pid,
        limits=(agent.timeout_seconds, agent.idle_timeout_seconds),
    )
    world = SuperviseEffects(
        stage.inbox,
        attempt,
        restarting=attempt.announce_restart,
        look=marks.read_marks,
        active_children=lambda: [child.run for child in _list_active_children(stage.attempts, run)],
        unmet=lambda: find_unmet_dependencies(place, needs),
        poll_interval=request.poll_interval,
    )
    rules: Rules[DoneFileState] = Rules(DoneFilePolicy(request.restart_delay, request.wait_timeout), None)
    journal = Journal(stage.runs, run, agent=crew.adapter, watchers=watchers)
    limits = Limits(request.max_restarts, request.max_time, request.budget_usd)
    stop = kernel.run_loop(
        rules, None, fact=Began(limits), look=Clock(stage.inbox).observe, perform=world.perform, journal=journal.append
    )
    if stop.outcome is Outcome.BLOCKED and (last := attempt.last):
        record(replace(last, status="stopped", error=stop.why))
    return stop


def locate_task(folder: str, project: str, task: str) -> TaskPaths:
    """By the folders' own names where none are given."""
    folder = os.path.realpath(folder)
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {folder!r}", "make it, with a TASK.md in it")
    parent, name = os.path.split(folder)
    return TaskPaths(folder, project or os.path.basename(parent), task or name)


def _list_active_children(records: AttemptStore, run: str) -> list[ChildRun]:
    """Child runs whose process lives."""
    return [c for c in records.list_children(run) if is_alive(ProcessIdentity(c.pid, c.ticks, c.boot))]


def _list_spared_pids(records: AttemptStore, run: str) -> list[int]:
    """They may outlive the agent that started them, and so must their guardians."""
    return [pid for child in _list_active_children(records, run) for pid in (child.pid, child.guardian)]
