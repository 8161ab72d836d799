"""Use case: restart an agent on a task until its DONE mark is there."""

import os
import time
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.app import wiring
from ralph.app.paths import Places, find
from ralph.app.session import Stage, Wishes, locked, new_id, parent_of, staged
from ralph.app.supervise.bus_watcher import TaskBus
from ralph.app.supervise.dependencies import needs_of, unmet
from ralph.config.schema import AgentSettings
from ralph.core.policies.done_file import DoneFile, Standing
from ralph.core.step import Rules
from ralph.engine import kernel
from ralph.engine.clock import Clock
from ralph.engine.journal import Journal
from ralph.engine.loops.supervise import TaskWorld
from ralph.engine.loops.supervise_attempt import TaskAttempt
from ralph.engine.loops.supervise_marks import Marks
from ralph.model.errors import UsageError
from ralph.model.loop import Began, Limits, Outcome, Stop
from ralph.model.ports import Watcher
from ralph.model.supervised import TASK_TEXT, Attempt, Child, TaskPlace
from ralph.process.identity import Identity, is_alive
from ralph.process.spawner import Handle
from ralph.stores import attempts
from ralph.stores.attempts import Attempts
from ralph.stores.runs import NewRun

KIND = "supervise"


class SuperviseRequest(Struct, frozen=True):
    """How a task is supervised."""

    place: TaskPlace
    agent: AgentSettings
    words: tuple[str, ...] = ()  # a command instead of the agent that settings name
    max_restarts: int = 100
    restart_delay: float = 1.0
    wait_timeout: float = 300.0
    poll_interval: float = 1.0
    max_time: float | None = None
    budget_usd: float | None = None
    snapshots: bool = True


def supervise(
    request: SuperviseRequest,
    places: Places,
    variables: Mapping[str, str],
    guardian: Handle | None,
    wishes: Wishes,
) -> Stop:
    """Until DONE, the last restart, a wait, a fatal error or an interruption. `places` are the task's own."""
    place = request.place
    if not os.path.isfile(place.path(TASK_TEXT)) and not os.path.exists(place.path("DONE")):
        raise UsageError(f"there is no {TASK_TEXT} in {place.folder}", "write the task into it")
    needs = needs_of(place)
    here = os.getcwd()
    crew = (
        wiring.found(request.words, (), "command", here, variables)
        if request.words
        else wiring.recruited(request.agent, here, variables)
    )
    wiring.refuse_unkept_budget(crew, request.budget_usd)
    run = new_id()
    with locked(places, places.lock_of(place.folder), run) as stores:
        records = stores[1]
        with staged(run, places, stores, guardian, wishes, variables, lambda: _spared(records, run)) as stage:
            record, now = msgspec.json.encode(request), time.time()
            parent = parent_of(variables)
            stage.runs.begin(
                NewRun(run, KIND, place.folder, crew.adapter, record, stage.keeper, now, parent, place.task)
            )
            return _looped(run, request, places, variables, crew, stage, needs)


def _looped(
    run: str,
    request: SuperviseRequest,
    places: Places,
    variables: Mapping[str, str],
    crew: wiring.Crew,
    stage: Stage,
    needs: tuple[str, ...],
) -> Stop:
    place, agent = request.place, request.agent
    bus = TaskBus(place)
    watchers: Sequence[Watcher] = (*stage.watchers, bus)
    marks = Marks(place, bus.wish, lambda: unmet(place, needs))
    parent = parent_of(variables) or ""

    def record(attempt: Attempt) -> None:
        stage.attempts.put(attempt)
        attempts.project(attempt, place.task, crew.adapter, parent)

    def begun(attempt: Attempt) -> None:
        marks.since = attempt.started_at
        bus.begun(attempt)

    own = wiring.own_variables(run, place.folder, places.state)
    made = wiring.agent(crew, os.getcwd(), variables, stage.supervisor)
    keep = wiring.snapshots(request.snapshots, run, find(os.getcwd()), places.records(run), variables, stage.supervisor)
    attempt = TaskAttempt(
        run,
        place,
        wiring.caller(made, crew, agent, os.getcwd(), variables, own, stage.supervisor, keep),
        "stream",
        stage.inbox,
        watchers,
        record,
        begun,
        lambda: stage.supervisor.guardian_pid,
        (agent.timeout_seconds, agent.idle_timeout_seconds),
    )
    world = TaskWorld(
        stage.inbox,
        attempt,
        attempt.restarting,
        marks.look,
        lambda: [child.run for child in _active(stage.attempts, run)],
        lambda: unmet(place, needs),
        request.poll_interval,
    )
    rules: Rules[Standing] = Rules(DoneFile(request.restart_delay, request.wait_timeout), None)
    journal = Journal(stage.runs, run, crew.adapter, watchers)
    limits = Limits(request.max_restarts, request.max_time, request.budget_usd)
    stop = kernel.run(rules, None, Began(limits), Clock(stage.inbox).look, world.perform, journal.append)
    if stop.outcome is Outcome.BLOCKED and (last := attempt.last):
        record(replace(last, status="stopped", error=stop.why))
    return stop


def task_place(folder: str, project: str, task: str) -> TaskPlace:
    """By the folders' own names where none are given."""
    folder = os.path.realpath(folder)
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {folder!r}", "make it, with a TASK.md in it")
    parent, name = os.path.split(folder)
    return TaskPlace(folder, project or os.path.basename(parent), task or name)


def _active(records: Attempts, run: str) -> list[Child]:
    """Child runs whose process lives."""
    return [c for c in records.children(run) if is_alive(Identity(c.pid, c.ticks, c.boot))]


def _spared(records: Attempts, run: str) -> list[int]:
    """They may outlive the agent that started them, and so must their guardians."""
    return [pid for child in _active(records, run) for pid in (child.pid, child.guardian)]
