"""Use case: restart an agent on a task until its DONE mark is there."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.app import wiring
from ralph.app.agent_command import AgentCommand, locate_agent, resolve_agent
from ralph.app.child_runs import find_parent_run
from ralph.app.guardrails import name_gates
from ralph.app.paths import Paths, find_paths, find_project_paths
from ralph.app.proof_gates import build_proof_gates
from ralph.app.run.proof_judge import ProofJudge
from ralph.app.runs.earlier_life import read_earlier_life
from ralph.app.runs.run_info import write_run_info
from ralph.app.sandbox.choice import Isolation
from ralph.app.sandboxed_session import contain_session
from ralph.app.session import Callbacks, Session, open_session
from ralph.app.supervise.bus_watcher import BusWatcher
from ralph.app.supervise.dependencies import find_unmet_dependencies, read_task_dependencies
from ralph.config.schema import AgentSettings, Guardrail, Judge, SandboxSettings, Settings
from ralph.core.policies.done_file import DoneFilePolicy
from ralph.core.step import Rules
from ralph.core.supervised.task_prompt import GUIDE_COMMANDS
from ralph.core.text.utf8 import BYTE_ORDER_MARK, refuse_undecoded
from ralph.engine.loops.supervise import AgentAttempts, SuperviseEffects
from ralph.model.agent_chain import AgentChain
from ralph.model.errors import UsageError
from ralph.model.loop import Began, Limits, Outcome, Stop
from ralph.model.message import TASK_BUS_FILE
from ralph.model.proofs import ProofMode
from ralph.model.runs import RunRecord
from ralph.model.standstill import StuckLimits
from ralph.model.supervised import (
    ATTEMPTS_FOLDER,
    DONE_FILE,
    TASK_CONFIG_FILE,
    TASK_FILE,
    AttemptRecord,
    TaskPaths,
)
from ralph.process.atomic_file import read_regular_file
from ralph.process.spawner import GuardianHandle

KIND = "supervise"
MAX_EARLIER_RUNS = 100  # among which the task's last one is looked for


class SuperviseRequest(Struct, frozen=True, kw_only=True):
    """How a task is supervised."""

    place: TaskPaths
    agent: AgentSettings
    words: tuple[str, ...] = ()  # a command instead of the agent that settings name
    folder: str = ""  # where the agent works; empty: where ralph was started
    max_restarts: int = 100
    restart_delay: float = 1.0
    wait_timeout: float = 300.0
    poll_interval: float = 1.0
    max_time: float | None = None
    budget_usd: float | None = None
    snapshots: bool = True
    checks: tuple[str, ...] = ()  # commands without which DONE does not count
    proofs: ProofMode = "warn"
    protected: tuple[str, ...] = ()  # patterns of files no agent may change
    judge: Judge | None = None  # of an explained change; None: the agent's own vendor, where it can
    max_wait: float = 6 * 3600.0  # seconds for a usage limit with a known end
    isolation: Isolation = Isolation()
    sandbox: SandboxSettings = SandboxSettings()
    setup: str = ""
    stuck: StuckLimits = StuckLimits()
    chain: AgentChain = AgentChain()
    day_usd: float | None = None  # for all runs of this machine together


def apply_supervise_settings(request: SuperviseRequest, settings: Settings) -> SuperviseRequest:
    """With all that only settings say; the checks of settings come before those that were typed."""
    return replace(
        request,
        snapshots=settings.snapshots,
        checks=tuple(dict.fromkeys((*settings.supervise.checks, *request.checks))),
        proofs=settings.proofs,
        protected=settings.protected,
        judge=settings.specflow.judge,
        max_wait=settings.retry.max_wait_seconds if settings.retry.attempts else 0.0,
        sandbox=settings.sandbox,
        setup=settings.setup,
        stuck=settings.build_stuck_limits(),
        chain=settings.agent_chain,
        day_usd=settings.budget_usd_per_day,
    )


def supervise_task(
    request: SuperviseRequest,
    paths: Paths,
    *,
    variables: Mapping[str, str],
    guardian: GuardianHandle | None,
    callbacks: Callbacks,
) -> Stop:
    """Until DONE, the last restart, a wait, a fatal error or an interruption. `paths` are the task's own."""
    place = request.place
    _refuse_unreadable_task(place)
    needs = read_task_dependencies(place)
    command = _resolve_command(request, variables)
    wiring.refuse_unenforceable_budget(command, request.budget_usd or request.day_usd)
    bus = BusWatcher(place)
    with (
        open_session(
            paths,
            kind=KIND,
            agent_name=command.adapter,
            task=place.task,
            lock=paths.lock_for(place.folder),
            variables=variables,
            guardian=guardian,
            callbacks=replace(callbacks, watchers=(*callbacks.watchers, bus)),
            spares_children=True,
            watched=find_project_paths(request.folder or os.getcwd()),
            prompt_file=place.path(TASK_FILE),
        ) as session,
        contain_session(
            session,
            request.isolation,
            request.sandbox,
            paths=find_paths(request.folder or os.getcwd()),
            commands=(command,),
            protected=request.protected,
            writable=(place.folder,),
            used=(place.path(TASK_FILE), place.path(TASK_CONFIG_FILE)),
            used_folders=(place.path(ATTEMPTS_FOLDER),),
            setup=request.setup,
        ) as contained,
    ):
        contained.record(replace(request, folder=request.folder or os.getcwd()))  # where the checks run
        return _run_loop(contained, request, command, TaskLog(contained, place, bus, needs))


def _refuse_unreadable_task(place: TaskPaths) -> None:
    """Nobody pays for an agent that has nothing to do; a task that is done already needs no text."""
    path = place.path(TASK_FILE)
    if os.path.exists(place.path(DONE_FILE)):
        return
    if not os.path.isfile(path):
        raise UsageError(f"there is no {TASK_FILE} in {place.folder}", "write the task into it")
    try:
        text = read_regular_file(path, errors="surrogateescape").removeprefix(BYTE_ORDER_MARK)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "make it readable") from error
    refuse_undecoded(text, repr(path))
    if not text.strip():
        raise UsageError(f"{path} is empty", "write the task into it")


def _resolve_command(request: SuperviseRequest, variables: Mapping[str, str]) -> AgentCommand:
    here = request.folder or os.getcwd()
    if request.words:
        return locate_agent(request.words, (), adapter="command", folder=here, variables=variables)
    ordered = [f"{program} {command}" for program in ("ralph", _find_own_program()) for command in GUIDE_COMMANDS]
    return resolve_agent(
        request.agent,
        here,
        variables,
        checks=(*request.checks, *ordered),
        folders=[request.place.folder],
        commits_in=here,
    )


def _find_own_program() -> str:
    """How an agent calls us: by the full path, for a login shell, as Codex has it, makes a PATH of its own."""
    program = os.path.join(os.path.dirname(sys.executable), "ralph")
    return shlex.quote(program) if os.access(program, os.X_OK) else f"{shlex.quote(sys.executable)} -m ralph"


class TaskLog:
    """A supervised task's agent runs on record, in its folder and on its bus; and those it waits for."""

    def __init__(self, session: Session, place: TaskPaths, bus: BusWatcher, needs: tuple[str, ...]) -> None:
        self._session, self._place, self._bus, self._needs = session, place, bus, needs
        self._parent = find_parent_run(session.variables) or ""

    @property
    def guardian_pid(self) -> int:
        return self._session.processes.guardian_pid

    def begin(self, attempt: AttemptRecord) -> None:
        self.save(attempt)
        self._bus.announce_attempt(attempt)

    def save(self, attempt: AttemptRecord) -> None:
        self._session.attempts.save(attempt)
        write_run_info(attempt, self._place.task, self._session.agent_name, self._parent)

    def read_wait_request(self) -> str:
        return self._bus.read_wait_request()

    def list_active_children(self) -> list[str]:
        return [child.run for child in self._session.list_active_children()]

    def list_unmet_dependencies(self) -> tuple[str, ...]:
        return find_unmet_dependencies(self._place, self._needs)


def _run_loop(session: Session, request: SuperviseRequest, command: AgentCommand, log: TaskLog) -> Stop:
    place, here = request.place, request.folder or os.getcwd()
    tree = find_paths(here)
    earlier = _list_earlier_runs(session)
    _restore_run_infos(session, earlier[:1])
    keep = session.keep_snapshots(request.snapshots, tree, _list_own_patterns(place, tree.root), earlier)
    runner = session.prepare_agent(command, request.agent, folder=here, keep=keep)
    attempts = AgentAttempts(
        session.run,
        place,
        runner=runner,
        log=log,
        watchers=session.watchers,
        own_program=_find_own_program(),
        can_start_runs=session.containment is None and wiring.read_grant(command).can_start_runs,
    )
    checks = [Guardrail(command=check) for check in request.checks]
    judge = None if request.words else wiring.find_proof_judge(request.agent, request.judge)
    gates = build_proof_gates(
        session,
        checks,
        keep=keep,
        folder=here,
        mode=request.proofs,
        protected=request.protected,
        ask_judge=ProofJudge(session, request.agent, judge, folder=here).ask if judge else None,
        earlier=earlier,
    )
    effects = SuperviseEffects(
        place,
        attempts,
        log,
        inbox=session.inbox,
        poll_interval=request.poll_interval,
        gates=gates,
        watchers=session.watchers,
    )
    policy = DoneFilePolicy(
        restart_delay=request.restart_delay,
        wait_timeout=request.wait_timeout,
        max_wait=request.max_wait,
        gates=name_gates(checks),
        proofs=request.proofs,
        has_protected=bool(request.protected or session.containment),
        has_judge=judge is not None,
    )
    rules = Rules(policy, None)
    life = read_earlier_life(session.runs, earlier, rules)
    began = Began(_build_limits(request), standstill=life.standstill, pending_notes=life.pending_notes)
    stop = session.play(rules, effects, began)
    if stop.outcome is Outcome.TAMPERED:
        effects.withdraw_done(stop.why)
    if stop.outcome is Outcome.BLOCKED and (last := attempts.last):
        log.save(replace(last, status="stopped", error=stop.why))
    return stop


def _build_limits(request: SuperviseRequest) -> Limits:
    return Limits(
        request.max_restarts,
        request.max_time,
        cost_usd=request.budget_usd,
        stuck=request.stuck,
        chain=request.chain,
        day_usd=request.day_usd,
    )


def _list_earlier_runs(session: Session) -> list[RunRecord]:
    """Of the same task, the newest first."""
    latest = (run for run in session.runs.list_latest(MAX_EARLIER_RUNS) if run.id != session.run)
    return [run for run in latest if run.kind == KIND and run.folder == session.paths.folder]


def _restore_run_infos(session: Session, runs: Sequence[RunRecord]) -> None:
    """What a full disk kept from being written, or a crash cut off."""
    for record in runs:
        for attempt in session.attempts.list_for_run(record.id):
            write_run_info(attempt, record.task, record.agent, record.parent or "")


def _list_own_patterns(place: TaskPaths, root: str) -> list[str]:
    """The records of a task whose folder is in the work tree: they change with every run, whatever its agent does."""
    folder = os.path.relpath(place.folder, os.path.realpath(root))
    if folder.startswith(".."):
        return []
    return [f"/{folder}/runs/", f"/{folder}/{TASK_BUS_FILE}*"]


def locate_task(folder: str, project: str, task: str) -> TaskPaths:
    """By the folders' own names where none are given."""
    folder = os.path.realpath(folder)
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {folder!r}", "create it, with a TASK.md in it")
    parent, name = os.path.split(folder)
    return TaskPaths(folder, project or os.path.basename(parent), task or name)
