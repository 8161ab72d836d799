"""Use case: take tasks through coder → reviewer → tester → qa, several at once, and land what is proven."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from ralph.app import stages, verification
from ralph.app.healing import lives
from ralph.app.life import Wishes, locked, new_id, parent_of
from ralph.app.places import Places
from ralph.app.task_inbox import CANCELLED, Purse, TaskInbox
from ralph.app.wiring import own_variables
from ralph.config.schema import Settings
from ralph.core import environment
from ralph.core.policies.staged import Staged, StagePlan, Standing
from ralph.core.step import Rules
from ralph.engine import kernel
from ralph.engine.chronicle import Chronicle
from ralph.engine.inbox import SignalInbox
from ralph.engine.journal import Journal
from ralph.engine.stage_world import Desk, Site, StageWorld
from ralph.engine.world import Clock
from ralph.model import board
from ralph.model.board import Card, Change, Entry, NoSuchTask
from ralph.model.errors import MachineError, RalphError
from ralph.model.events import AgentEnded, Event, Warned
from ralph.model.loop import Began, Landed, Limits, Outcome, Stop
from ralph.model.ports import Processes, Watcher
from ralph.model.spec import ROLES, CompletionCriteria, Role, VerificationMethod
from ralph.model.verdict import Claim, Verdict
from ralph.process.identity import of_process, own
from ralph.process.shell import find_program
from ralph.process.supervisor import Supervisor
from ralph.stores import sqlite
from ralph.stores.runs import Keeper, NewRun, Runs
from ralph.stores.tasks import Tasks
from ralph.workspaces.git import Git
from ralph.workspaces.landing import land
from ralph.workspaces.worktree import Worktrees

KIND = "execute"
LOOK_EVERY = 0.2
RECHECKED = (VerificationMethod.EXTERNAL, VerificationMethod.MULTI_STAGE)  # on the merged tree too


class ExecuteRequest(Struct, frozen=True):
    """Which tasks, how many at once, and within which limits."""

    settings: Settings
    tasks: tuple[str, ...] = ()  # empty: all that are open
    jobs: int = 1
    stages: tuple[Role, ...] = ROLES
    budget_usd: float | None = None
    task_budget_usd: float | None = None
    max_time: float | None = None
    resume: bool = False
    target: str = ""  # empty: the branch that is checked out


class Ending(Struct, frozen=True):
    """How one task ended."""

    task: str
    outcome: Outcome
    why: str


WatcherOf = Callable[[str], Sequence[Watcher]]  # those of one task


def execute(
    request: ExecuteRequest,
    places: Places,
    variables: Mapping[str, str],
    wishes: Wishes,
    watchers_of: WatcherOf,
) -> list[Ending]:
    """All that was asked for, as far as it goes; each ending as it was."""
    git = find_program("git", variables)
    if git is None or not places.in_git:
        raise MachineError(f"{places.root} is no git repository", "tasks live on branches: `git init` first")
    with locked(places, places.lock_of(os.path.join(places.root, KIND)), KIND):
        signals = SignalInbox(lambda: False, wishes.on_signal)
        try:
            return Crew(request, places, variables, git, signals, watchers_of).work()
        finally:
            signals.close()


class Crew:
    """N workers over one board. Each thread has its own database connection, guardian and inbox."""

    def __init__(
        self,
        request: ExecuteRequest,
        places: Places,
        variables: Mapping[str, str],
        git: str,
        signals: SignalInbox,
        watchers_of: WatcherOf,
    ) -> None:
        self._request, self._places, self._variables = request, places, variables
        self._git, self._signals, self._watchers_of = git, signals, watchers_of
        self._purse = Purse(request.budget_usd)
        self._kin: set[int] = set()
        self._landing = threading.Lock()
        self._lock = threading.Lock()
        self._busy = 0
        self._endings: list[Ending] = []
        self._surprises: list[BaseException] = []
        self._deadline = None if request.max_time is None else time.monotonic() + request.max_time

    def work(self) -> list[Ending]:
        """Until nothing can be claimed any more."""
        tasks = self._tasks()
        wanted = self._wanted(tasks)
        workers = [
            threading.Thread(target=self._worker, args=(wanted,), name=f"worker-{n}")
            for n in range(min(self._request.jobs, max(1, len(wanted))))
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():
                worker.join(LOOK_EVERY)  # short waits: signals are handled in between
        if self._surprises:
            raise self._surprises[0]
        return self._endings

    def _wanted(self, tasks: Tasks) -> tuple[str, ...]:
        cards = {card.id: card for card in tasks.board()}
        if unknown := [name for name in self._request.tasks if name not in cards]:
            raise NoSuchTask(f"no task {unknown[0]!r}", "see `ralph task list`")
        asked = self._request.tasks or tuple(c.id for c in cards.values() if c.status in ("todo", "in_progress"))
        runs = Runs(sqlite.opened(self._places.database))
        for name in self._request.tasks or tuple(cards):
            if self._request.resume and (change := _reopening(cards[name], tasks, runs)):
                tasks.apply([change], f"resume/{new_id()}/{name}")
        if self._request.resume and not self._request.tasks:
            asked = tuple(c.id for c in tasks.board() if c.status in ("todo", "in_progress"))
        return asked

    def _worker(self, wanted: tuple[str, ...]) -> None:
        try:
            self._claim_and_run(wanted)
        except BaseException as error:  # noqa: BLE001  # told by the main thread, which waits for all
            self._surprises.append(error)

    def _claim_and_run(self, wanted: tuple[str, ...]) -> None:
        tasks = self._tasks()
        while not self._signals.interruption() and not self._over():
            run = new_id()
            with self._lock:
                tried = {ending.task for ending in self._endings}
                entry = tasks.claim(run, wanted, tried)
                self._busy += entry is not None
                others = self._busy
            if entry is None:
                if not others:
                    return
                time.sleep(LOOK_EVERY)  # what the others finish may free what waits
                continue
            try:
                ending = self._one(run, entry, tasks)
            finally:
                with self._lock:
                    self._busy -= 1
            with self._lock:
                self._endings.append(ending)

    def _over(self) -> bool:
        left = self._purse.left()
        late = self._deadline is not None and time.monotonic() >= self._deadline
        return late or (left is not None and left <= 0)

    def _one(self, run: str, entry: Entry, tasks: Tasks) -> Ending:
        """One task, from its work tree to its last status."""
        name = entry.task.id
        places = self._places
        os.makedirs(places.records(run), exist_ok=True)
        chronicle = Chronicle(places.records(run))
        runs = Runs(sqlite.opened(places.database))
        inbox = TaskInbox(self._signals, lambda: tasks.wished(name, "cancel") or runs.wished(run, "cancel"))
        supervisor = Supervisor(inbox, kin=self._kin)
        try:
            request = msgspec.json.encode(self._request)
            keeper, parent = _keeper(supervisor.guardian_pid), parent_of(self._variables)
            agent = self._request.settings.agent.command
            runs.begin(NewRun(run, KIND, places.folder, agent, request, keeper, time.time(), parent, name))
            watchers: Sequence[Watcher] = (chronicle, self._paid, *self._watchers_of(name))
            stop, text = self._looped(run, entry, tasks, runs, inbox, supervisor, watchers)
            self._conclude(run, name, stop, text, tasks)
        except RalphError as error:
            runs.end(run, time.time(), "unusable", error.message)
            tasks.apply([board.Released(name)], f"{run}/released")
            raise
        finally:
            supervisor.close()
            inbox.close()
            chronicle.close()
        return Ending(name, stop.outcome, stop.why)

    def _looped(
        self,
        run: str,
        entry: Entry,
        tasks: Tasks,
        runs: Runs,
        inbox: TaskInbox,
        supervisor: Supervisor,
        watchers: Sequence[Watcher],
    ) -> tuple[Stop, str]:
        request, settings, places = self._request, self._request.settings, self._places
        name = entry.task.id
        git = Git(self._git, places.root, environment.of_gate(self._variables, {}), supervisor)
        trees = Worktrees(git, places.root, os.path.dirname(places.state))
        target = request.target or entry.target or git.do("symbolic-ref", "--short", "HEAD")
        with self._landing:  # git keeps one list of work trees
            tree = trees.open(name, target)
        tasks.apply([board.Housed(name, tree.branch, target)], f"{run}/housed", run)
        own_env = own_variables(run, tree.folder, places.state)
        gate_env = environment.of_gate(self._variables, own_env)
        cast = stages.cast_of(
            entry.task,
            request.stages,
            settings,
            tree.folder,
            self._variables,
            own_env,
            supervisor,
            tasks.history.iterations_to_pass,
        )
        for warning in cast.warnings:
            for watch in watchers:
                watch(time.time(), 0, [Warned(warning)])
        judge = stages.judge_of(settings, tree.folder, self._variables, supervisor, places.records(run))
        loose = settings.specflow.promise_match == "loose"

        def verify(claim: Claim, criteria: CompletionCriteria) -> Verdict:
            return verification.verdict_on(claim, criteria, verification.tools_of(lambda: _lent(supervisor), judge))

        def proven(folder: str) -> str:
            last = cast.parts[cast.plans[-1].role].criteria
            if last.verification_method not in RECHECKED:
                return ""
            said = f"<promise>{last.promise}</promise>"
            verdict = verify(Claim(last.promise, said, folder, gate_env, loose=loose), last)
            return "" if verdict.verified else verdict.reason

        def landed() -> Landed:
            message = f"Merge {tree.branch}: {entry.task.title}"
            with self._landing:
                found = land(git, tree, places.records(run), message, proven)
            return Landed(found.done, found.commit, found.conflict, found.red, found.problem)

        here = git.at(tree.folder)
        site = Site(
            tree.folder,
            lambda: here.try_("diff", tree.base).output,
            here.state,
            lambda message: trees.keep(tree, message),
            landed,
        )
        desk = Desk(
            lambda: tasks.get(name),
            lambda changes, key: tasks.apply(changes, key, run),
            lambda role: tasks.history.attempts(name, role, 3),
        )
        spec = tasks.specs.get(entry.task.spec_id)
        world = StageWorld(
            run,
            places.records(run),
            spec.text,
            cast.parts,
            desk,
            site,
            verify,
            gate_env,
            loose,
            Clock(),
            inbox,
            watchers,
        )
        roles = [plan.role for plan in cast.plans]
        first = roles.index(entry.task.stage) if entry.task.stage in roles else 0
        flow = settings.specflow
        policy = Staged(name, cast.plans, flow.max_send_backs, flow.circuit_breaker, first)
        rules: Rules[Standing] = Rules(policy, settings.patience)
        journal = Journal(runs, run, settings.agent.command or "agent", watchers)
        stop = kernel.run(rules, None, Began(self._limits(cast.plans)), world, journal.append)
        if stop.outcome is Outcome.COMPLETED:
            trees.close(tree)
        return stop, world.last_text

    def _limits(self, plans: Sequence[StagePlan]) -> Limits:
        most = sum(plan.limit for plan in plans) * (self._request.settings.specflow.max_send_backs + 1) + len(plans)
        costs = [cost for cost in (self._purse.left(), self._request.task_budget_usd) if cost is not None]
        seconds = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        return Limits(most, seconds, min(costs) if costs else None)

    def _conclude(self, run: str, name: str, stop: Stop, text: str, tasks: Tasks) -> None:
        entry = tasks.get(name)
        match stop.outcome:
            case Outcome.COMPLETED:
                change: Change = board.Landed(name, stop.why.rpartition(" ")[2])
            case Outcome.BLOCKED:
                change = board.Blocked(name, f"{stop.why}; its work is on {entry.branch}")
            case Outcome.INTERRUPTED if stop.why == CANCELLED:
                change = board.Cancelled(name, "cancelled while it was worked on")
            case Outcome.INTERRUPTED | Outcome.UNUSABLE:
                change = board.Released(name)
            case _:
                change = board.GaveUp(name, entry.task.iteration, text, _reason(stop))
        tasks.apply([change], f"{run}/concluded", run)

    def _paid(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, AgentEnded):
                self._purse.pay(event.cost_usd)

    def _tasks(self) -> Tasks:
        return Tasks(sqlite.opened(self._places.database))


def exit_code(endings: Sequence[Ending], open_left: bool) -> int:
    """0 only when all that was asked for is done."""
    codes = {ending.outcome.exit_code for ending in endings}
    if 130 in codes:
        return 130
    if not endings and not open_left:
        return 0
    return next((code for code in (2, 1, 3) if code in codes), 1 if open_left else 0)


def open_tasks(request: ExecuteRequest, places: Places) -> list[str]:
    """Those that were asked for and are not done."""
    cards = Tasks(sqlite.opened(places.database)).board()
    asked = [c for c in cards if c.id in request.tasks] if request.tasks else cards
    return [card.id for card in asked if card.status not in ("done", "cancelled")]


def _reopening(card: Card, tasks: Tasks, runs: Runs) -> Change | None:
    if card.status == "cancelled":
        return board.Reopened(card.id)
    if card.status == "in_progress":
        record = runs.record(card.worker)
        if record is None or not lives(record):
            return board.Released(card.id)
    return None


def _reason(stop: Stop) -> str:
    usual = "Max iterations reached without completion promise"
    return usual if usual in stop.why else stop.why


def _keeper(guardian: int) -> Keeper:
    me, them = own(), of_process(guardian)
    return Keeper(me.pid, me.ticks, me.boot, guardian, them.ticks if them else 0)


@contextmanager
def _lent(processes: Processes) -> Iterator[Processes]:
    yield processes
