"""Use case: run the prompt loop, new or resumed."""

import time
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.app import wiring
from ralph.app.paths import Paths
from ralph.app.session import Callbacks, Session, find_parent_run, lock_and_open, make_run_id, open_session
from ralph.config.schema import Settings
from ralph.core.policies.tagged import TaggedState
from ralph.core.text.secrets import redact_argv
from ralph.engine import kernel
from ralph.engine.clock import Clock
from ralph.engine.journal import Journal, read_last_limits, replay_journal
from ralph.model.errors import MachineError, NoSuchRun, UsageError
from ralph.model.loop import Began, Fact, LoopState, Resumed, Stop
from ralph.process.atomic_file import read_regular_file
from ralph.process.spawner import GuardianHandle
from ralph.stores import sqlite
from ralph.stores.runs import NewRun, RunRecord, RunStore

KIND = "run"
MAX_PROMPT_CHARS = 64 << 20  # characters; an agent may put anything in the place of its prompt


class RunRequest(Struct, frozen=True, kw_only=True):
    """All that is needed to start a run, and to go on with it in another life."""

    settings: Settings
    prompt: str | None = None
    prompt_file: str | None = None
    baseline: bool = False


def start_run(
    request: RunRequest,
    places: Paths,
    *,
    variables: Mapping[str, str],
    guardian: GuardianHandle | None,
    wishes: Callbacks,
) -> Stop:
    crew = wiring.resolve_agent(request.settings.agent, places.folder, variables)
    wiring.refuse_unenforceable_budget(crew, request.settings.budget_usd)
    wiring.refuse_missing_scm(request.settings, places.folder, variables)
    read_prompt(request)  # a missing file is told before anything starts
    run = make_run_id()
    with (
        lock_and_open(places, places.lock, run) as stores,
        open_session(run, places, stores=stores, guardian=guardian, wishes=wishes, variables=variables) as stage,
    ):
        record = msgspec.json.encode(request)
        now = time.time()
        stage.runs.begin(
            NewRun(
                id=run,
                kind=KIND,
                folder=places.folder,
                agent=crew.adapter,
                request=record,
                owner=stage.owner,
                started_at=now,
                parent=find_parent_run(variables),
            )
        )
        return _run_loop(run, request, places=places, variables=variables, crew=crew, stage=stage)


def resume_run(
    name: str,
    overrides: Callable[[Settings], Settings],
    *,
    places: Paths,
    variables: Mapping[str, str],
    guardian: GuardianHandle | None,
    wishes: Callbacks,
) -> Stop:
    """Go on where the journal of a run ends; only its limits may be changed."""
    record, request = load_resumable_run(name, overrides, places)
    places = replace(places, folder=record.folder)
    crew = wiring.resolve_agent(request.settings.agent, places.folder, variables)
    wiring.refuse_unenforceable_budget(crew, request.settings.budget_usd)
    wiring.refuse_missing_scm(request.settings, places.folder, variables)
    with (
        lock_and_open(places, places.lock, record.id) as stores,
        open_session(record.id, places, stores=stores, guardian=guardian, wishes=wishes, variables=variables) as stage,
    ):
        rows = stage.runs.list_transitions(record.id)
        state: LoopState[TaggedState] | None = None
        already = 0.0
        if rows:
            state, seen = replay_journal(wiring.build_rules(request.settings, baseline=request.baseline), rows)
            already = seen[-1].at
        stage.runs.take_over(record.id, stage.owner)
        return _run_loop(
            record.id,
            request,
            places=places,
            variables=variables,
            crew=crew,
            stage=stage,
            state=state,
            written=len(rows),
            already=already,
        )


def load_resumable_run(
    name: str, overrides: Callable[[Settings], Settings], places: Paths
) -> tuple[RunRecord, RunRequest]:
    """A run that can go on, and what with: as it began, under the limits it had last, but for these changes."""
    with sqlite.translate_errors(places.database):
        runs = RunStore(sqlite.open_database(places.database))
        record = _choose_run_to_resume(runs, name)
        request = msgspec.json.decode(runs.read_request(record.id), type=RunRequest)
        last = read_last_limits(runs.list_transitions(record.id))
    settings = request.settings if last is None else request.settings.with_limits(last)
    return record, replace(request, settings=overrides(settings))


def _run_loop(
    run: str,
    request: RunRequest,
    *,
    places: Paths,
    variables: Mapping[str, str],
    crew: wiring.AgentCommand,
    stage: Session,
    state: LoopState[TaggedState] | None = None,
    written: int = 0,
    already: float = 0.0,
) -> Stop:
    settings = request.settings
    world = wiring.build_run_effects(
        run,
        settings,
        crew=crew,
        places=places,
        variables=variables,
        prompt=lambda: read_prompt(request),
        processes=stage.supervisor,
        inbox=stage.inbox,
        watchers=stage.watchers,
    )
    rules = wiring.build_rules(settings, baseline=request.baseline)
    journal = Journal(stage.runs, run, agent=crew.adapter, watchers=stage.watchers, written=written)
    fact: Fact = Began(settings.limits) if state is None else Resumed(settings.limits)
    return kernel.run_loop(
        rules, state, fact=fact, look=Clock(stage.inbox, already).observe, perform=world.perform, journal=journal.append
    )


def read_prompt(request: RunRequest) -> str:
    """The base prompt: the text itself, or the file as it is now."""
    if request.prompt_file is None:
        return request.prompt or ""
    try:
        text = read_regular_file(request.prompt_file, MAX_PROMPT_CHARS, "surrogateescape")
    except OSError as error:
        raise UsageError(
            f"cannot read the prompt file {request.prompt_file!r}: {error.strerror}", "give a readable file with -f"
        ) from error
    if not text.strip():
        raise UsageError(f"the prompt file {request.prompt_file!r} is empty", "write what the agent shall do into it")
    return text


def override_agent(settings: Settings, command: str | None) -> Settings:
    """Another agent than the configured one has none of its flags."""
    if command is None:
        return settings
    from ralph.agents._names import resolve_adapter_name

    same = bool(settings.agent.command) and resolve_adapter_name(settings.agent.command) == resolve_adapter_name(
        command
    )
    agent = settings.agent if same else replace(settings.agent, flags=(), adapter=None)
    return replace(settings, agent=replace(agent, command=command))


def ensure_agent(settings: Settings, places: Paths, variables: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """Settings that name an agent: the configured one, else the first that is found, and a word about that."""
    if settings.agent.command:
        return settings, ()
    from ralph.app.agents import detect

    found = detect.detect_agent(variables, places.folder)
    if found is None:
        raise MachineError(
            "no coding agent is configured, and none was found on PATH",
            f"install one ({', '.join(detect.DETECTABLE_AGENTS)}) or run `ralph init`",
        )
    flags = settings.agent.flags or detect.choose_default_flags(found.name)
    agent = replace(settings.agent, command=found.name, flags=flags)
    said = " ".join((found.name, *redact_argv(flags)))
    return replace(settings, agent=agent), (f"no agent configured: using {said!r} ({found.path})",)


def _choose_run_to_resume(runs: RunStore, name: str) -> RunRecord:
    if name:
        record = runs.find_record(name)
        if record is None:
            raise NoSuchRun(f"no run {name!r}, or more than one begins so", "see `ralph status`")
    else:
        record = next((r for r in runs.list_latest(50) if r.kind == KIND and r.outcome != "completed"), None)
        if record is None:
            raise NoSuchRun("there is no run to resume", "start one with `ralph run -p PROMPT`")
    if record.kind != KIND:
        raise NoSuchRun(f"{record.id} is not a run of `ralph run`", f"start `ralph {record.kind}` again instead")
    if record.outcome == "completed":
        raise NoSuchRun(f"run {record.id} is completed", "start a new one with `ralph run -p PROMPT`")
    return record
