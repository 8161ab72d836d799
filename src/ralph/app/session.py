"""What every loop has around its kernel: lock, database, record, inbox, guardian, agent, journal, those who watch."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.app import wiring
from ralph.app.agent_command import AgentCommand
from ralph.app.child_runs import (
    find_parent_run,
    list_active_children,
    list_spared_pids,
    register_with_parent,
)
from ralph.app.locked_stores import lock_and_open
from ralph.app.paths import Paths, find_paths
from ralph.app.repositories import remember_repository
from ralph.app.run_identity import identify_owner, make_run_id, name_subjects
from ralph.app.runs.earlier_life import list_unfinished
from ralph.app.runs.heartbeat import Heartbeat
from ralph.app.runs.living_runs import announce_run
from ralph.app.runs.lost_reports import add_lost_answers
from ralph.app.runs.proofs.proof_receipt import build_proof_receipt, locate_checks, name_proofs, write_proof_receipt
from ralph.app.runs.settings_watch import SettingsWatch
from ralph.app.runs.snapshots import SnapshotReader, read_accepted_paths, read_snapshot_tree
from ralph.app.runs.waking import wait_or_wake
from ralph.app.sandbox.choice import describe_host
from ralph.config.schema import AgentSettings
from ralph.core.reporting.trace_context import build_trace_variables
from ralph.core.step import Rules
from ralph.core.text.write_error import explain_write_error
from ralph.engine import kernel
from ralph.engine.agent_run import AgentRunner
from ralph.engine.clock import Clock
from ralph.engine.emit import emit
from ralph.engine.event_log import EventLog
from ralph.engine.inbox import SignalInbox
from ralph.engine.journal import Journal, replay_journal
from ralph.engine.redaction import RedactingWatcher
from ralph.engine.wishes import AgentStopWatch, WishReader
from ralph.model.control import Subject
from ralph.model.events import Warned
from ralph.model.loop import Began, Decision, Fact, LoopState, Resumed, Stop
from ralph.model.ports import ChangeWatch, Inbox, Processes, TreeKeeper, Watcher
from ralph.model.proofs import ClosedSettings
from ralph.model.runs import NewRun, RunRecord
from ralph.model.store_ports import AttemptStore, ControlStore, RunStore
from ralph.model.supervised import ChildRun
from ralph.process.spawner import GuardianHandle
from ralph.process.supervisor import Supervisor
from ralph.workspaces.snapshots import BaselineSource, Snapshots

if TYPE_CHECKING:
    from ralph.app.sandbox.opening import Containment

_StateT = TypeVar("_StateT")


class Callbacks(Struct, frozen=True, kw_only=True):
    """What the caller wants to hear and to be asked."""

    watchers: Sequence[Watcher] = ()
    on_tick: Callable[[], object] = int
    on_signal: Callable[[], object] = int
    is_cancelled: Callable[[], bool] = bool  # asked often; only where many tasks are one's own


class RunProcesses(Processes, Protocol):
    """Processes that tell who holds them."""

    @property
    def guardian_pid(self) -> int: ...


class Replayed(Struct, Generic[_StateT], frozen=True, kw_only=True):
    """How far a run's journal leads; of a new one, nowhere."""

    state: LoopState[_StateT] | None = None
    written: int = 0  # transitions
    elapsed: float = 0.0  # seconds into the run


class Effects(Protocol):
    """What a loop may touch. None for a decision that is no business of its own: the kernel waits by itself."""

    def perform(self, decision: Decision) -> Fact | None: ...


class Session(Struct, frozen=True, kw_only=True):
    """One run on its way: where it is recorded, what can interrupt it, what starts its processes, who watches."""

    run: str  # its id
    kind: str
    agent_name: str  # of the adapter, for the record and those who watch
    task: str = ""
    paths: Paths
    task_folder: str  # what its children find in $TASK_FOLDER
    variables: Mapping[str, str]  # of our own environment
    runs: RunStore
    attempts: AttemptStore
    control: ControlStore
    inbox: Inbox
    processes: RunProcesses
    watcher: RedactingWatcher  # before all who watch: none of them sees a secret
    watch: ChangeWatch | None = None  # over settings, prompts and hooks
    containment: "Containment | None" = None  # where agents and checks run; None: on this machine itself
    passed_over: str = ""  # which stronger sandboxes do not work here, for the first line

    @property
    def watchers(self) -> Sequence[Watcher]:
        return (self.watcher,)

    @property
    def contained(self) -> Processes:
        """For agents and checks; what ralph itself starts is no business of the sandbox."""
        return self.processes if self.containment is None else self.containment.through(self.processes)

    @property
    def isolation(self) -> str:
        if self.containment is None:
            return describe_host()
        return f"sandbox: {self.containment.sandbox.describe()}{self.passed_over and f' ({self.passed_over})'}"

    @property
    def keeps_itself(self) -> bool:
        """Whether the agent is told to use its own sandbox."""
        return self.containment is not None and self.containment.sandbox.kind == "agent"

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """What a pause of this run may be about."""
        return name_subjects(self.run, self.kind, self.task)

    @property
    def run_dir(self) -> str:
        return self.paths.run_dir(self.run)

    @property
    def run_variables(self) -> dict[str, str]:
        own = wiring.build_run_variables(self.run, self.task_folder)
        return {**own, **build_trace_variables(self.run, self.variables)}

    @property
    def gate_environment(self) -> dict[str, str]:
        return wiring.build_gate_variables(self.variables, self.run_variables)

    def prepare_agent(
        self, command: AgentCommand, settings: AgentSettings, *, folder: str, keep: TreeKeeper | None
    ) -> AgentRunner:
        """The agent, ready to be called in that folder. One whose flags depend on its version is asked for it; what it
        cannot do as it should is told."""
        command = replace(command, own_sandbox=self.keeps_itself, guarded=command.guarded and self.containment is None)
        self.hide_values(settings.environment)
        substitutes = {
            name: partial(self.prepare_agent, other, settings.substitutes[name], folder=folder, keep=keep)
            for name, other in command.substitutes.items()
        }
        prepared = wiring.prepare_agent(command, folder, self.variables, self.contained)
        emit(self.watchers, 0, *map(Warned, prepared.warnings))
        return wiring.build_agent_runner(
            prepared,
            command,
            settings=settings,
            folder=folder,
            variables=self.variables,
            own=self.run_variables,
            processes=self.contained,
            keep=keep,
            watch=self.watch,
            substitutes=substitutes,
        )

    def hide_values(self, variables: Mapping[str, str]) -> None:
        """What such variables of secret names hold is shown to nobody."""
        self.watcher.learn(variables)

    def keep_snapshots(
        self, wanted: bool, tree: Paths, ours: Sequence[str] = (), earlier: Iterable[RunRecord] = ()
    ) -> Snapshots | None:
        """Looks at the work tree around agents, and keeps it where that is wanted; None where there is no git.
        `earlier`: runs of the same work, the newest first; what those since the last lawful end left is no start."""
        unfinished = list_unfinished(earlier)
        return wiring.build_snapshots(
            wanted,
            self.run,
            tree=tree,
            variables=self.variables,
            processes=self.processes,
            baseline=BaselineSource(name=self.run, unfinished=tuple(run.id for run in unfinished)),
            ours=ours,
        )

    def protect(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """These, and those of the sandbox: what is not there yet no mount can close."""
        return (*patterns, *(self.containment.protected if self.containment else ()))

    @property
    def closed_settings(self) -> ClosedSettings:
        return self.containment.closed if self.containment else ClosedSettings()

    def record(self, request: object, folder: str = "") -> None:
        """A new run, on disk before anything of it starts. `request` is what a later life reads; `folder` the one
        people know the run by."""
        self.runs.begin(
            NewRun(
                id=self.run,
                kind=self.kind,
                folder=folder or self.paths.folder,
                agent=self.agent_name,
                request=msgspec.json.encode(request),
                owner=identify_owner(self.processes.guardian_pid),
                started_at=time.time(),
                parent=find_parent_run(self.variables),
                task=self.task,
            )
        )

    def take_over(self, rules: Rules[_StateT]) -> Replayed[_StateT]:
        """A run of before is ours from now on, as far as its journal leads; one that does not fit is refused first."""
        rows = self.runs.list_transitions(self.run)
        replayed: Replayed[_StateT] = Replayed()
        if rows:
            state, seen = replay_journal(rules, rows)
            replayed = Replayed(state=state, written=len(rows), elapsed=seen[-1].at)
        self.runs.take_over(self.run, identify_owner(self.processes.guardian_pid))
        return replayed

    def play(
        self, rules: Rules[_StateT], effects: Effects, fact: Fact, *, replayed: Replayed[_StateT] | None = None
    ) -> Stop:
        """The loop, to its end: each decision written down, then carried out. `record` or `take_over` comes first."""
        before: Replayed[_StateT] = replayed or Replayed()
        journal = Journal(
            self.runs,
            self.run,
            agent=self.agent_name,
            watchers=self.watchers,
            written=before.written,
            isolation=self.isolation,
            is_task=self.kind == "execute",
            hide=self.watcher.redact,
        )
        wishes = WishReader(self.control, self.subjects)
        clock = Clock(self.inbox, before.elapsed, self._find_day_sum(fact), wishes.read)
        stop = kernel.run_loop(
            rules,
            before.state,
            fact=fact,
            look=clock.observe,
            perform=add_lost_answers(effects.perform, self.run_dir),
            pause=lambda: clock.stand_still(wishes.wait_for_resume(self.inbox)),
            wait=lambda seconds: wait_or_wake(
                seconds, run=self.run, transitions=journal.written, runs=self.runs, inbox=self.inbox
            ),
            journal=journal.append,
        )
        self.write_receipt()
        return stop

    def _find_day_sum(self, fact: Fact) -> Callable[[Fact], float] | None:
        if not isinstance(fact, Began | Resumed) or fact.limits.day_usd is None:
            return None
        from ralph.app.runs.day_spending import DaySpending  # only who has a budget for a day looks at other runs

        return DaySpending(self.paths, self.variables).sum_with

    def write_receipt(self) -> None:
        """A full disk, or state that is gone, costs the receipt, never the run."""
        if (record := self.runs.find_record(self.run)) is None or not os.path.isdir(self.run_dir):
            return
        folder = locate_checks(record, self.runs.read_request(self.run))
        git = wiring.build_git(folder, self.variables, self.processes)
        places = find_paths(folder) if self.kind == "supervise" else self.paths  # a task may be kept elsewhere
        kept_tree = read_snapshot_tree(places, self.run, self.variables)
        rows = self.runs.list_transitions(self.run)
        isolation = "none" if self.containment is None else self.containment.sandbox.describe()
        receipt = build_proof_receipt(record, rows, folder, git, kept_tree=kept_tree, isolation=isolation)
        if any(check.is_repeatable for check in receipt.checks):
            receipt = name_proofs(
                receipt, SnapshotReader(places, self.variables, self.processes).read_tree(receipt.tree)
            )
        task = self.task if self.kind == "execute" else ""
        accepted = read_accepted_paths(self.paths, self.run, task, self.variables)
        with suppress(OSError):
            write_proof_receipt(self.paths, replace(receipt, accepted=accepted))

    def list_active_children(self) -> list[ChildRun]:
        return list_active_children(self.attempts, self.run, self.processes.guardian_pid)


@contextmanager
def open_session(
    paths: Paths,
    *,
    kind: str,
    agent_name: str,
    lock: str,
    variables: Mapping[str, str],
    guardian: GuardianHandle | None,
    callbacks: Callbacks,
    run: str = "",
    task: str = "",
    spares_children: bool = False,
    watched: Paths | None = None,
    prompt_file: str = "",
) -> Iterator[Session]:
    """For as long as the block lasts: the place locked, leftovers of the dead ended, inbox, guardian and event log
    there, the parent told. `run` is one to go on with; `spares_children`: runs that an agent starts may outlive it;
    `watched`: whose settings hold, where these are another place's."""
    run = run or make_run_id()
    with lock_and_open(paths, lock, run, variables) as stores:
        runs, attempts = stores.runs, stores.attempts
        remember_repository(paths, variables)
        event_log = _open_event_log(paths, run)
        heartbeat = Heartbeat(runs, run)
        inbox = SignalInbox(heartbeat.is_cancel_wanted, callbacks.on_signal, heartbeat.is_stop_wanted)
        supervisor = Supervisor(
            inbox,
            guardian,
            on_tick=callbacks.on_tick,
            spared=(lambda: list_spared_pids(attempts, run, supervisor.guardian_pid)) if spares_children else None,
            is_pause_wanted=AgentStopWatch(stores.control, name_subjects(run, kind, task)).is_stop_wanted,
        )
        watch = SettingsWatch(watched or paths, variables, run=run, prompt_file=prompt_file)
        owner = identify_owner(supervisor.guardian_pid)
        try:
            register_with_parent(run, owner, paths, variables)
            with announce_run(run, owner, paths, variables, task=task):
                yield Session(
                    run=run,
                    kind=kind,
                    agent_name=agent_name,
                    task=task,
                    paths=paths,
                    task_folder=paths.folder,
                    variables=variables,
                    runs=runs,
                    attempts=attempts,
                    control=stores.control,
                    inbox=inbox,
                    processes=supervisor,
                    watcher=RedactingWatcher((event_log, *callbacks.watchers), variables),
                    watch=watch,
                )
        finally:
            watch.close()
            event_log.close()
            supervisor.close()
            inbox.close()


def _open_event_log(paths: Paths, run: str) -> EventLog:
    """What cannot be written now could not be told later."""
    run_dir = paths.run_dir(run)
    try:
        os.makedirs(paths.dot_ralph, exist_ok=True)
        os.makedirs(run_dir, exist_ok=True)
        return EventLog(run_dir)
    except OSError as error:
        raise explain_write_error(run_dir, error) from error
