"""Use case: run the prompt loop, new or resumed."""

import time
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.app import wiring
from ralph.app.paths import Places
from ralph.app.session import Stage, Wishes, locked, new_id, parent_of, staged
from ralph.config.schema import Settings
from ralph.core.policies.tagged import Standing
from ralph.core.text.secrets import hidden_words
from ralph.engine import kernel
from ralph.engine.atomic_file import read_whole
from ralph.engine.clock import Clock
from ralph.engine.journal import Journal, last_limits, replayed
from ralph.model.errors import MachineError, NoSuchRun, UsageError
from ralph.model.loop import Began, Fact, LoopState, Resumed, Stop
from ralph.process.spawner import Handle
from ralph.stores import sqlite
from ralph.stores.runs import NewRun, RunRecord, Runs

KIND = "run"
LONGEST_PROMPT = 64 << 20  # characters; an agent may put anything in the place of its prompt


class RunRequest(Struct, frozen=True):
    """All that is needed to start a run, and to go on with it in another life."""

    settings: Settings
    prompt: str | None = None
    prompt_file: str | None = None
    baseline: bool = False


def start(
    request: RunRequest, places: Places, variables: Mapping[str, str], guardian: Handle | None, wishes: Wishes
) -> Stop:
    """A new run."""
    crew = wiring.recruited(request.settings.agent, places.folder, variables)
    wiring.refuse_unkept_budget(crew, request.settings.budget_usd)
    wiring.refuse_missing_scm(request.settings, places.folder, variables)
    read_prompt(request)  # a missing file is told before anything starts
    run = new_id()
    with (
        locked(places, places.lock, run) as stores,
        staged(run, places, stores, guardian, wishes, variables) as stage,
    ):
        record = msgspec.json.encode(request)
        now = time.time()
        stage.runs.begin(
            NewRun(run, KIND, places.folder, crew.adapter, record, stage.keeper, now, parent_of(variables))
        )
        return _looped(run, request, places, variables, crew, stage)


def resume(
    name: str,
    overrides: Callable[[Settings], Settings],
    places: Places,
    variables: Mapping[str, str],
    guardian: Handle | None,
    wishes: Wishes,
) -> Stop:
    """Go on where the journal of a run ends; only its limits may be changed."""
    record, request = resumable(name, overrides, places)
    places = replace(places, folder=record.folder)
    crew = wiring.recruited(request.settings.agent, places.folder, variables)
    wiring.refuse_unkept_budget(crew, request.settings.budget_usd)
    wiring.refuse_missing_scm(request.settings, places.folder, variables)
    with (
        locked(places, places.lock, record.id) as stores,
        staged(record.id, places, stores, guardian, wishes, variables) as stage,
    ):
        rows = stage.runs.transitions(record.id)
        state: LoopState[Standing] | None = None
        already = 0.0
        if rows:
            state, seen = replayed(wiring.rules(request.settings, baseline=request.baseline), rows)
            already = seen[-1].at
        stage.runs.take_over(record.id, stage.keeper)
        return _looped(record.id, request, places, variables, crew, stage, state, len(rows), already)


def resumable(name: str, overrides: Callable[[Settings], Settings], places: Places) -> tuple[RunRecord, RunRequest]:
    """A run that can go on, and what with: as it began, under the limits it had last, but for these changes."""
    with sqlite.explained(places.database):
        runs = Runs(sqlite.opened(places.database))
        record = _to_resume(runs, name)
        request = msgspec.json.decode(runs.request(record.id), type=RunRequest)
        last = last_limits(runs.transitions(record.id))
    settings = request.settings if last is None else request.settings.under(last)
    return record, replace(request, settings=overrides(settings))


def _looped(
    run: str,
    request: RunRequest,
    places: Places,
    variables: Mapping[str, str],
    crew: wiring.Crew,
    stage: Stage,
    state: LoopState[Standing] | None = None,
    written: int = 0,
    already: float = 0.0,
) -> Stop:
    settings = request.settings
    world = wiring.world(
        run,
        settings,
        crew,
        places,
        variables,
        lambda: read_prompt(request),
        stage.supervisor,
        stage.inbox,
        stage.watchers,
    )
    rules = wiring.rules(settings, baseline=request.baseline)
    journal = Journal(stage.runs, run, crew.adapter, stage.watchers, written)
    fact: Fact = Began(settings.limits) if state is None else Resumed(settings.limits)
    return kernel.run(rules, state, fact, Clock(stage.inbox, already).look, world.perform, journal.append)


def read_prompt(request: RunRequest) -> str:
    """The base prompt: the text itself, or the file as it is now."""
    if request.prompt_file is None:
        return request.prompt or ""
    try:
        text = read_whole(request.prompt_file, LONGEST_PROMPT, "surrogateescape")
    except OSError as error:
        raise UsageError(
            f"cannot read the prompt file {request.prompt_file!r}: {error.strerror}", "give a readable file with -f"
        ) from error
    if not text.strip():
        raise UsageError(f"the prompt file {request.prompt_file!r} is empty", "write what the agent shall do into it")
    return text


def with_chosen(settings: Settings, command: str | None) -> Settings:
    """Another agent than the configured one has none of its flags."""
    if command is None:
        return settings
    from ralph.agents._names import name_of

    same = bool(settings.agent.command) and name_of(settings.agent.command) == name_of(command)
    agent = settings.agent if same else replace(settings.agent, flags=(), adapter=None)
    return replace(settings, agent=replace(agent, command=command))


def with_agent(settings: Settings, places: Places, variables: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """Settings that name an agent: the configured one, else the first that is found, and a word about that."""
    if settings.agent.command:
        return settings, ()
    from ralph.app.agents import detect

    found = detect.agent(variables, places.folder)
    if found is None:
        raise MachineError(
            "no coding agent is configured, and none was found on PATH",
            f"install one ({', '.join(detect.AGENTS)}) or run `ralph init`",
        )
    flags = settings.agent.flags or detect.default_flags(found.name)
    agent = replace(settings.agent, command=found.name, flags=flags)
    said = " ".join((found.name, *hidden_words(flags)))
    return replace(settings, agent=agent), (f"no agent configured: using {said!r} ({found.path})",)


def _to_resume(runs: Runs, name: str) -> RunRecord:
    if name:
        record = runs.record(name)
        if record is None:
            raise NoSuchRun(f"no run {name!r}, or more than one begins so", "see `ralph status`")
    else:
        record = next((r for r in runs.latest(50) if r.kind == KIND and r.outcome != "completed"), None)
        if record is None:
            raise NoSuchRun("there is no run to resume", "start one with `ralph run -p PROMPT`")
    if record.kind != KIND:
        raise NoSuchRun(f"{record.id} is not a run of `ralph run`", f"start `ralph {record.kind}` again instead")
    if record.outcome == "completed":
        raise NoSuchRun(f"run {record.id} is completed", "start a new one with `ralph run -p PROMPT`")
    return record
