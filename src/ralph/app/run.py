"""Use case: run the prompt loop, new or resumed, from the lock to the last line of the journal."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import msgspec
from msgspec import Struct

from ralph.app import wiring
from ralph.app.places import Places
from ralph.config.schema import Settings
from ralph.core.policies.tagged import Standing
from ralph.core.step import Rules
from ralph.engine import kernel
from ralph.engine.chronicle import Chronicle
from ralph.engine.inbox import SignalInbox
from ralph.engine.journal import Journal, replayed
from ralph.model.errors import Busy, ConfigError, MachineError, NoSuchRun, UsageError
from ralph.model.loop import Began, Fact, LoopState, Resumed, Stop
from ralph.model.ports import Watcher
from ralph.process.identity import of_process, own
from ralph.process.lock import Lock
from ralph.process.spawner import Handle
from ralph.process.supervisor import Supervisor
from ralph.stores import sqlite
from ralph.stores.runs import Keeper, NewRun, RunRecord, Runs

KIND = "run"


class RunRequest(Struct, frozen=True):
    """All that is needed to start a run, and to go on with it in another life."""

    settings: Settings
    prompt: str | None = None
    prompt_file: str | None = None
    baseline: bool = False


def with_agent(settings: Settings, places: Places, variables: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """Settings that name an agent: the configured one, else the first that is found, and a word about that."""
    if settings.agent.command:
        return settings, ()
    from ralph.app import detect

    found = detect.agent(variables, places.folder)
    if found is None:
        raise MachineError(
            "no coding agent is configured, and none was found on PATH",
            f"install one ({', '.join(detect.AGENTS)}) or run `ralph init`",
        )
    flags = settings.agent.flags or detect.default_flags(found.name)
    agent = msgspec.structs.replace(settings.agent, command=found.name, flags=flags)
    said = " ".join((found.name, *flags))
    return msgspec.structs.replace(settings, agent=agent), (f"no agent configured: using {said!r} ({found.path})",)


class Wishes(Struct, frozen=True):
    """What the caller wants to hear and to be asked."""

    watchers: Sequence[Watcher] = ()
    on_tick: Callable[[], object] = int
    on_signal: Callable[[], object] = int


def start(
    request: RunRequest, places: Places, variables: Mapping[str, str], guardian: Handle | None, wishes: Wishes
) -> Stop:
    """A new run."""
    crew = wiring.recruited(request.settings.agent, places.folder, variables)
    read_prompt(request)  # a missing file is told before anything starts
    run = _new_id()
    with _repository(places, run) as runs:
        _prepare(places, run)
        life = _Life(run, request, places, variables, crew, wishes, guardian, runs)
        return life.live(lambda keeper: runs.begin(_record(run, request, places, crew, keeper)), None, 0, 0.0)


def resume(
    name: str,
    overrides: Callable[[Settings], Settings],
    places: Places,
    variables: Mapping[str, str],
    guardian: Handle | None,
    wishes: Wishes,
) -> Stop:
    """Go on where the journal of a run ends; only its limits may be changed."""
    with sqlite.explained(places.database):
        runs = Runs(sqlite.opened(places.database))
        record = _to_resume(runs, name)
        request = msgspec.json.decode(runs.request(record.id), type=RunRequest)
    request = msgspec.structs.replace(request, settings=overrides(request.settings))
    places = msgspec.structs.replace(places, folder=record.folder)
    crew = wiring.recruited(request.settings.agent, places.folder, variables)
    with _repository(places, record.id) as runs:
        _prepare(places, record.id)
        rules = wiring.rules(request.settings, baseline=request.baseline)
        rows = runs.transitions(record.id)
        state, seen = replayed(rules, rows) if rows else (None, [])
        life = _Life(record.id, request, places, variables, crew, wishes, guardian, runs)
        already = seen[-1].at if seen else 0.0
        return life.live(lambda keeper: runs.take_over(record.id, keeper), state, len(rows), already)


class _Life:
    """One process's part of a run."""

    def __init__(
        self,
        run: str,
        request: RunRequest,
        places: Places,
        variables: Mapping[str, str],
        crew: wiring.Crew,
        wishes: Wishes,
        guardian: Handle | None,
        runs: Runs,
    ) -> None:
        self._run, self._request, self._places, self._variables = run, request, places, variables
        self._crew, self._wishes, self._guardian, self._runs = crew, wishes, guardian, runs

    def live(
        self,
        announce: Callable[[Keeper], None],
        state: LoopState[Standing] | None,
        written: int,
        already: float,
    ) -> Stop:
        settings, run = self._request.settings, self._run
        rules: Rules[Standing] = wiring.rules(settings, baseline=self._request.baseline)
        with ExitStack() as stack:
            inbox = SignalInbox(lambda: self._runs.wished(run, "cancel"), self._wishes.on_signal)
            stack.callback(inbox.close)
            supervisor = Supervisor(inbox, self._guardian, self._wishes.on_tick)
            stack.callback(supervisor.close)
            announce(_keeper(supervisor.guardian_pid))
            chronicle = Chronicle(self._places.records(run))
            stack.callback(chronicle.close)
            watchers: Sequence[Watcher] = (chronicle, *self._wishes.watchers)
            world = wiring.world(
                run,
                settings,
                self._crew,
                self._places,
                self._variables,
                lambda: read_prompt(self._request),
                supervisor,
                inbox,
                watchers,
                already,
            )
            journal = Journal(self._runs, run, self._crew.adapter, watchers, written)
            fact: Fact = Began(settings.limits) if state is None else Resumed(settings.limits)
            return kernel.run(rules, state, fact, world, journal.append)


def read_prompt(request: RunRequest) -> str:
    """The base prompt: the text itself, or the file as it is now."""
    if request.prompt_file is None:
        return request.prompt or ""
    try:
        with open(request.prompt_file, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    except OSError as error:
        raise UsageError(
            f"cannot read the prompt file {request.prompt_file!r}: {error.strerror}", "give a readable file with -f"
        ) from error
    if not text.strip():
        raise UsageError(f"the prompt file {request.prompt_file!r} is empty", "write what the agent shall do into it")
    return text


@contextmanager
def _repository(places: Places, run: str) -> Iterator[Runs]:
    """The database, with the work tree locked for this run."""
    lock = Lock(places.lock)
    if holder := lock.acquire(run):
        raise Busy(
            f"{places.root} is busy: run {holder.run or '?'} (pid {holder.identity.pid}) holds it",
            "see `ralph status`; end it with `ralph cancel`",
        )
    try:
        with sqlite.explained(places.database):
            yield Runs(sqlite.opened(places.database))
    finally:
        lock.release()


def _prepare(places: Places, run: str) -> None:
    try:
        os.makedirs(places.notes, exist_ok=True)
        os.makedirs(places.records(run), exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot write to {error.filename}: {error.strerror}", "make the folder writable") from error


def _to_resume(runs: Runs, name: str) -> RunRecord:
    if name:
        record = runs.record(name)
        if record is None:
            raise NoSuchRun(f"no run {name!r}, or more than one begins so", "see `ralph status`")
    else:
        record = next((r for r in runs.latest(50) if r.kind == KIND and r.outcome != "completed"), None)
        if record is None:
            raise NoSuchRun("there is no run to resume", "start one with `ralph run -p PROMPT`")
    if record.outcome == "completed":
        raise NoSuchRun(f"run {record.id} is completed", "start a new one with `ralph run -p PROMPT`")
    return record


def _record(run: str, request: RunRequest, places: Places, crew: wiring.Crew, keeper: Keeper) -> NewRun:
    return NewRun(run, KIND, places.folder, crew.adapter, msgspec.json.encode(request), keeper, time.time())


def _keeper(guardian: int) -> Keeper:
    me, them = own(), of_process(guardian)
    return Keeper(me.pid, me.ticks, me.boot, guardian, them.ticks if them else 0)


def _new_id() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}"
