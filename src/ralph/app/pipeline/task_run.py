"""One task on its way: its work tree, its stages, its landing, its last status."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from ralph.app.paths import Places, find
from ralph.app.pipeline import stages, verification
from ralph.app.pipeline.resume import Life, resumed
from ralph.app.pipeline.stages import Cast, Workplace
from ralph.app.pipeline.task_inbox import CANCELLED, Purse, TaskInbox
from ralph.app.pipeline.task_processes import Hands, Untorn
from ralph.app.session import keeper_of, parent_of
from ralph.app.wiring import own_variables, snapshots
from ralph.config.schema import Settings
from ralph.core import environment
from ralph.core.policies.staged import UNPROMISED, Staged, StagePlan, Standing
from ralph.core.step import Rules
from ralph.core.tasks.task_rules import AT_WORK
from ralph.engine import kernel
from ralph.engine.clock import Clock
from ralph.engine.emit import tell
from ralph.engine.event_log import Chronicle
from ralph.engine.inbox import SignalInbox
from ralph.engine.journal import Journal
from ralph.engine.loops.pipeline import Desk, Site, StageWorld, Terms
from ralph.model import board
from ralph.model.board import Change, Entry
from ralph.model.errors import MachineError, RalphError
from ralph.model.events import Noted, RunEnded, Warned
from ralph.model.loop import Began, Landed, Limits, Outcome, Stop
from ralph.model.ports import Watcher
from ralph.model.spec import ROLES, CompletionCriteria, Role
from ralph.model.verdict import Claim, Verdict
from ralph.stores import sqlite
from ralph.stores.runs import NewRun, Runs
from ralph.stores.tasks import Tasks
from ralph.workspaces.git import Git
from ralph.workspaces.landing import land
from ralph.workspaces.worktree import Worktree, Worktrees

KIND = "execute"
LOOK_EVERY = 0.2


class ExecuteRequest(Struct, frozen=True):
    """Which tasks, how many at once, and which stages of them. Limits are in the settings."""

    settings: Settings
    tasks: tuple[str, ...] = ()  # empty: all that are open
    jobs: int = 1
    stages: tuple[Role, ...] = ROLES
    resume: bool = False
    target: str = ""  # empty: the branch that is checked out


class Ending(Struct, frozen=True):
    """How one task ended."""

    task: str
    outcome: Outcome
    why: str

    @property
    def cancelled(self) -> bool:
        """Someone wanted this task to end, not the whole of it."""
        return self.outcome is Outcome.INTERRUPTED and self.why == CANCELLED


class Shared(Struct, frozen=True):
    """What all tasks of one `ralph execute` have in common."""

    request: ExecuteRequest
    places: Places
    variables: Mapping[str, str]
    git: str  # the program
    target: str
    signals: SignalInbox
    purse: Purse
    deadline: float | None  # on the monotonic clock
    watchers_of: Callable[[str], Sequence[Watcher]]
    kin: set[int]  # the guardians of all
    landing: threading.Lock  # one at a time: what is merged must have been looked at merged
    home: sqlite.Home  # of the board


class Bench(Struct, frozen=True):
    """What one task is worked on with. Each has its own database connection, guardian and inbox."""

    shared: Shared
    run: str
    entry: Entry
    tasks: Tasks
    runs: Runs
    inbox: TaskInbox
    hands: Hands
    watchers: Sequence[Watcher]

    @property
    def records(self) -> str:
        """The run's own folder."""
        return self.shared.places.records(self.run)

    @property
    def settings(self) -> Settings:
        """Of all."""
        return self.shared.request.settings


def worked_on(shared: Shared, run: str, entry: Entry) -> Ending:
    """From its work tree to its last status."""
    try:
        with _explained(shared.places), _opened(shared, run, entry) as bench:
            try:
                with _explained(shared.places):
                    return _worked(bench)
            except RalphError as error:
                return _given_up(bench, error)
    except MachineError as error:  # it could not be begun, or how it ended not be written down
        return _let_go(shared, run, entry.task.id, error)
    except BaseException:  # a mistake of ours: whoever waits for us tells it
        _let_go(shared, run, entry.task.id, MachineError("", ""))
        raise


def _worked(bench: Bench) -> Ending:
    life = _life(bench)
    trees, tree = _housed(bench, life)
    stop = _played(bench, life, trees, tree)
    if stop.outcome is Outcome.COMPLETED and not trees.close(tree):
        tell(bench.watchers, 0, Noted(f"{tree.folder} is kept"))
    return Ending(bench.entry.task.id, stop.outcome, stop.why)


@contextmanager
def _explained(places: Places) -> Iterator[None]:
    """A disk that is full or broken is not the work's fault, and not ours."""
    try:
        with sqlite.explained(places.database):
            yield
    except OSError as error:
        raise MachineError(f"{error.strerror}: {error.filename or places.state}", "see `ralph doctor`") from error


@contextmanager
def _opened(shared: Shared, run: str, entry: Entry) -> Iterator[Bench]:
    places, name = shared.places, entry.task.id
    os.makedirs(places.records(run), exist_ok=True)
    database, asked = sqlite.opened(places.database), sqlite.opened(places.database, shared=True)
    wishes, runs = Tasks(asked), Runs(asked)
    inbox = TaskInbox(shared.signals, lambda: wishes.wished(name, "cancel") or runs.wished(run, "cancel"))
    hands, chronicle = Hands(inbox, shared.kin), Chronicle(places.records(run))
    watchers: Sequence[Watcher] = (chronicle, *shared.watchers_of(name))
    try:
        with shared.purse.shared():
            yield Bench(shared, run, entry, Tasks(database), Runs(database), inbox, hands, watchers)
    finally:
        hands.close()
        inbox.close()
        chronicle.close()
        database.close()
        asked.close()


def _housed(bench: Bench, life: Life) -> tuple[Worktrees, Worktree]:
    """On record, in a work tree of its own."""
    shared, name = bench.shared, bench.entry.task.id
    places, settings = shared.places, bench.settings
    request = msgspec.json.encode({"request": shared.request, **msgspec.structs.asdict(life)})
    keeper = keeper_of(bench.hands.guardian_pid)
    parent = parent_of(shared.variables)
    agent = settings.agent.command
    bench.runs.begin(NewRun(bench.run, KIND, places.folder, agent, request, keeper, time.time(), parent, name))
    common = os.path.dirname(places.state)
    git = Git(shared.git, places.root, shared.variables, Untorn(bench.hands, bench.inbox), common).named()
    trees = Worktrees(git, places.root, common)
    target = shared.request.target or bench.entry.target or shared.target
    tree = trees.open(name, target)
    bench.tasks.apply([board.Housed(name, tree.branch, target)], f"{bench.run}/housed", bench.run)
    return trees, tree


def _played(bench: Bench, life: Life, trees: Worktrees, tree: Worktree) -> Stop:
    """The loop itself."""
    shared, settings = bench.shared, bench.settings
    own = own_variables(bench.run, tree.folder, shared.places.state)
    hands = Untorn(bench.hands, bench.inbox)
    keep = snapshots(settings.snapshots, bench.run, find(tree.folder), bench.records, shared.variables, hands)
    place = Workplace(tree.folder, shared.variables, own, bench.hands, keep)
    cast = stages.cast_of(bench.entry.task, shared.request.stages, settings, place)
    tell(bench.watchers, 0, *map(Warned, (*cast.warnings, *_skipped(bench))))
    world = _world(bench, trees, tree, place, cast)
    rules: Rules[Standing] = Rules(life.policy, life.patience)
    journal = Journal(bench.runs, bench.run, settings.agent.command or "agent", bench.watchers)
    began = Began(_limits(bench, life.policy.stages), life.spent_usd)
    stop = kernel.run(rules, None, began, Clock(bench.inbox).look, world.perform, journal.append)
    changes = _conclusion(stop, bench.tasks.get(bench.entry.task.id), world, shared.request.stages)
    bench.tasks.apply(changes, f"{bench.run}/concluded", bench.run)
    return stop


def _world(bench: Bench, trees: Worktrees, tree: Worktree, place: Workplace, cast: Cast) -> StageWorld:
    name, loose = bench.entry.task.id, bench.settings.specflow.promise_match == "loose"
    tasks, purse = bench.tasks, bench.shared.purse
    judge = stages.judge_of(bench.settings, place, bench.records)

    def verify(claim: Claim, criteria: CompletionCriteria) -> Verdict:
        verdict = verification.verdict_on(claim, criteria, verification.tools_of(bench.hands.lent, judge))
        purse.pay(verdict.cost_usd)
        return verdict

    desk = Desk(
        lambda: tasks.get(name),
        lambda changes, key: tasks.apply(changes, key, bench.run),
        lambda role: tasks.history.attempts(name, role, 10),
        lambda: purse.lent(bench.inbox),
        purse.pay,
    )
    specification = tasks.specs.get(bench.entry.task.spec_id).text
    gates = environment.of_gate(place.variables, place.own)
    terms = Terms(bench.run, bench.records, specification, gates, loose)
    site = _site(bench, trees, tree)
    return StageWorld(terms, cast.parts, desk, site, verify, bench.inbox, bench.watchers)


def _site(bench: Bench, trees: Worktrees, tree: Worktree) -> Site:
    here, index = trees.git.at(tree.folder), os.path.join(bench.records, "index")
    # One a root: leftovers are found. Not below .git: there are tools that find nothing to test in there.
    scratch = trees.folder_of(".landing")
    message = f"Merge {tree.branch}: {bench.entry.task.title}"

    def landed(verify: Callable[[str], str]) -> Landed:
        if not _taken(bench.shared.landing, bench.inbox):
            return Landed(False, problem="interrupted")
        try:
            found = land(trees.git, tree, scratch, message, verify)
        finally:
            bench.shared.landing.release()
        return Landed(found.done, found.commit, found.conflict, found.red, found.problem)

    return Site(
        tree.folder,
        lambda: here.diff(tree.base, index),
        lambda: here.tree(index),
        lambda message: trees.keep(tree, message),
        landed,
    )


def _taken(lock: threading.Lock, inbox: TaskInbox) -> bool:
    """When it is our turn; False: we are to stop before that."""
    while not lock.acquire(timeout=LOOK_EVERY):
        if inbox.stop_now() is not None:
            return False
    return True


def _life(bench: Bench) -> Life:
    """What it is to do, from where it stopped."""
    flow, task, history = bench.settings.specflow, bench.entry.task, bench.tasks.history
    plans = stages.plans_of(task, bench.shared.request.stages, bench.settings, history.iterations_to_pass)
    policy = Staged(
        task.id,
        plans,
        flow.max_send_backs,
        flow.circuit_breaker,
        lands=plans[-1].role == ROLES[-1],
        loose=flow.promise_match == "loose",
    )
    return resumed(Life(policy, bench.settings.patience), KIND, bench.entry, bench.runs, history)


def _limits(bench: Bench, plans: Sequence[StagePlan]) -> Limits:
    """Each stage has its own; these bound all of them together."""
    shared, flow = bench.shared, bench.settings.specflow
    rounds = flow.max_send_backs + 1
    most = sum(plan.limit for plan in plans) * rounds + rounds  # a run to resolve a conflict in each
    seconds = None if shared.deadline is None else max(0.0, shared.deadline - time.monotonic())
    return Limits(most, seconds, flow.task_budget_usd)


def _conclusion(stop: Stop, entry: Entry, world: StageWorld, roles: Sequence[Role]) -> list[Change]:
    """What the board is told at the end."""
    name = entry.task.id
    match stop.outcome:
        case Outcome.COMPLETED if roles[-1] == ROLES[-1]:
            return [board.Landed(name, world.landed_as)]
        case Outcome.COMPLETED:
            after = ROLES[ROLES.index(roles[-1]) + 1]
            return [board.StageEntered(name, after), board.Released(name)]
        case Outcome.BLOCKED:
            return [board.Blocked(name, f"{stop.why}; its work is on {entry.branch}")]
        case Outcome.INTERRUPTED if stop.why == CANCELLED:
            return [board.Cancelled(name, AT_WORK)]
        case Outcome.INTERRUPTED | Outcome.UNUSABLE:
            return [board.Released(name)]
        case _:
            reason = UNPROMISED if UNPROMISED in stop.why else stop.why
            return [board.GaveUp(name, entry.task.iteration, world.last_text, reason)]


def _given_up(bench: Bench, error: RalphError) -> Ending:
    """Something around the work is wrong, not the work."""
    name, why = bench.entry.task.id, f"{error.message}. {error.hint}".strip()
    bench.runs.end(bench.run, time.time(), Outcome.UNUSABLE.value, error.message)
    if bench.tasks.get(name).worker == bench.run:
        bench.tasks.apply([board.Released(name)], f"{bench.run}/released", bench.run)
    outcome = Outcome.UNUSABLE
    tell(bench.watchers, 0, RunEnded(bench.run, outcome.value, why, outcome.exit_code, 0, 0.0))
    return Ending(name, outcome, why)


def _let_go(shared: Shared, run: str, name: str, error: MachineError) -> Ending:
    """Nobody works on it any more; where not even that can be written, it is told."""
    why = f"{error.message}. {error.hint}"
    if shared.home.gone:  # to open it would be to make another
        return Ending(name, Outcome.FAILED, why)
    try:
        with _explained(shared.places):
            tasks = Tasks(sqlite.opened(shared.places.database))
            if tasks.get(name).worker == run:
                tasks.apply([board.Released(name)], f"{run}/let go", run)
    except MachineError:
        why += f". It is left in progress: `ralph execute --resume {name}` goes on"
    return Ending(name, Outcome.UNUSABLE, why)


def _skipped(bench: Bench) -> list[str]:
    """Stages nobody will have looked through when it lands."""
    roles = bench.shared.request.stages
    skipped = [role for role in ROLES if role not in roles and role not in bench.entry.passed]
    return [f"{bench.entry.task.id} skips {', '.join(skipped)}"] if skipped and roles[-1] == ROLES[-1] else []
