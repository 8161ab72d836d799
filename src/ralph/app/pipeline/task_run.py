"""One task on its way: its work tree, its stages, its landing, its last status."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from ralph.app.paths import Paths, find_paths
from ralph.app.pipeline import stages, verification
from ralph.app.pipeline.budget import SharedBudget
from ralph.app.pipeline.resume import TaskPlan, resume_plan
from ralph.app.pipeline.stages import AgentContext, PipelineStages
from ralph.app.pipeline.task_inbox import TASK_CANCELLED, TaskInbox
from ralph.app.pipeline.task_processes import TaskProcesses, Uninterruptible
from ralph.app.session import find_parent_run, identify_owner
from ralph.app.wiring import build_run_variables, build_snapshots
from ralph.config.schema import Settings
from ralph.core import environment
from ralph.core.policies.staged import MAX_ITERATIONS_REASON, PipelinePolicy, StagedState, StagePlan
from ralph.core.step import Rules
from ralph.core.tasks.task_rules import CANCELLED_AT_WORK
from ralph.engine import kernel
from ralph.engine.clock import Clock
from ralph.engine.emit import emit
from ralph.engine.event_log import EventLog
from ralph.engine.inbox import SignalInbox
from ralph.engine.journal import Journal
from ralph.engine.loops.pipeline import PipelineEffects, TaskBoard, TaskRunConfig, Workspace
from ralph.model import board
from ralph.model.board import Change, Entry
from ralph.model.errors import MachineError, RalphError
from ralph.model.events import Noted, RunEnded, Warned
from ralph.model.loop import Began, Landed, Limits, Outcome, Stop
from ralph.model.ports import Watcher
from ralph.model.spec import ROLES, CompletionCriteria, Role
from ralph.model.verdict import Claim, Verdict
from ralph.stores import sqlite
from ralph.stores.runs import NewRun, RunStore
from ralph.stores.tasks import TaskStore
from ralph.workspaces.git import Git
from ralph.workspaces.landing import land_branch
from ralph.workspaces.worktree import Worktree, Worktrees

KIND = "execute"
LANDING_POLL_SECONDS = 0.2


class ExecuteRequest(Struct, frozen=True, kw_only=True):
    """Which tasks, how many at once, and which stages of them. Limits are in the settings."""

    settings: Settings
    tasks: tuple[str, ...] = ()  # empty: all that are open
    jobs: int = 1
    stages: tuple[Role, ...] = ROLES
    resume: bool = False
    target: str = ""  # empty: the branch that is checked out


class TaskEnding(Struct, frozen=True):
    """How one task ended."""

    task: str
    outcome: Outcome
    why: str

    @property
    def is_cancelled(self) -> bool:
        """Someone wanted this task to end, not the whole of it."""
        return self.outcome is Outcome.INTERRUPTED and self.why == TASK_CANCELLED


class PipelineContext(Struct, frozen=True, kw_only=True):
    """What all tasks of one `ralph execute` have in common."""

    request: ExecuteRequest
    paths: Paths
    variables: Mapping[str, str]
    git: str  # the program
    target: str
    signals: SignalInbox
    budget: SharedBudget
    deadline: float | None  # on the monotonic clock
    watchers_of: Callable[[str], Sequence[Watcher]]
    sibling_guardians: set[int]  # the guardians of all
    landing_lock: threading.Lock  # one at a time: what is merged must have been looked at merged
    database_file: sqlite.DatabaseFile  # of the board


class TaskContext(Struct, frozen=True, kw_only=True):
    """What one task is worked on with. Each has its own database connection, guardian and inbox."""

    pipeline: PipelineContext
    run: str
    entry: Entry
    tasks: TaskStore
    runs: RunStore
    inbox: TaskInbox
    processes: TaskProcesses
    watchers: Sequence[Watcher]

    @property
    def run_dir(self) -> str:
        return self.pipeline.paths.run_dir(self.run)

    @property
    def settings(self) -> Settings:
        return self.pipeline.request.settings


def run_task(shared: PipelineContext, run: str, entry: Entry) -> TaskEnding:
    """From its work tree to its last status."""
    try:
        with _friendly_errors(shared.paths), _open_context(shared, run, entry) as bench:
            try:
                with _friendly_errors(shared.paths):
                    return _run_in_worktree(bench)
            except RalphError as error:
                return _abort(bench, error)
    except MachineError as error:  # it could not be begun, or how it ended not be written down
        return _release(shared, run, entry.task.id, error)
    except BaseException:  # a mistake of ours: whoever waits for us tells it
        _release(shared, run, entry.task.id, MachineError("", ""))
        raise


def _run_in_worktree(bench: TaskContext) -> TaskEnding:
    life = _build_plan(bench)
    trees, tree = _open_worktree(bench, life)
    stop = _run_loop(bench, life, trees, tree)
    if stop.outcome is Outcome.COMPLETED and not trees.remove_if_landed(tree):
        emit(bench.watchers, 0, Noted(f"{tree.folder} is kept"))
    return TaskEnding(bench.entry.task.id, stop.outcome, stop.why)


@contextmanager
def _friendly_errors(places: Paths) -> Iterator[None]:
    """A disk that is full or broken is not the work's fault, and not ours."""
    try:
        with sqlite.translate_errors(places.database):
            yield
    except OSError as error:
        raise MachineError(f"{error.strerror}: {error.filename or places.state}", "see `ralph doctor`") from error


@contextmanager
def _open_context(shared: PipelineContext, run: str, entry: Entry) -> Iterator[TaskContext]:
    places, name = shared.paths, entry.task.id
    os.makedirs(places.run_dir(run), exist_ok=True)
    database, asked = sqlite.open_database(places.database), sqlite.open_database(places.database, shared=True)
    wishes, runs = TaskStore(asked), RunStore(asked)
    inbox = TaskInbox(shared.signals, lambda: wishes.has_wish(name, "cancel") or runs.has_wish(run, "cancel"))
    hands, chronicle = TaskProcesses(inbox, shared.sibling_guardians), EventLog(places.run_dir(run))
    watchers: Sequence[Watcher] = (chronicle, *shared.watchers_of(name))
    try:
        with shared.budget.join():
            yield TaskContext(
                pipeline=shared,
                run=run,
                entry=entry,
                tasks=TaskStore(database),
                runs=RunStore(database),
                inbox=inbox,
                processes=hands,
                watchers=watchers,
            )
    finally:
        hands.close()
        inbox.close()
        chronicle.close()
        database.close()
        asked.close()


def _open_worktree(bench: TaskContext, life: TaskPlan) -> tuple[Worktrees, Worktree]:
    """On record, in a work tree of its own."""
    shared, name = bench.pipeline, bench.entry.task.id
    places, settings = shared.paths, bench.settings
    request = msgspec.json.encode({"request": shared.request, **msgspec.structs.asdict(life)})
    keeper = identify_owner(bench.processes.guardian_pid)
    parent = find_parent_run(shared.variables)
    agent = settings.agent.command
    bench.runs.begin(
        NewRun(
            id=bench.run,
            kind=KIND,
            folder=places.folder,
            agent=agent,
            request=request,
            owner=keeper,
            started_at=time.time(),
            parent=parent,
            task=name,
        )
    )
    common = os.path.dirname(places.state)
    git = Git(
        shared.git,
        places.root,
        environment=shared.variables,
        processes=Uninterruptible(bench.processes, bench.inbox),
        common=common,
    ).with_identity()
    trees = Worktrees(git, places.root, common)
    target = shared.request.target or bench.entry.target or shared.target
    tree = trees.open(name, target)
    bench.tasks.apply([board.BranchAssigned(name, tree.branch, target)], f"{bench.run}/housed", bench.run)
    return trees, tree


def _run_loop(bench: TaskContext, life: TaskPlan, trees: Worktrees, tree: Worktree) -> Stop:
    shared, settings = bench.pipeline, bench.settings
    own = build_run_variables(bench.run, tree.folder, shared.paths.state)
    hands = Uninterruptible(bench.processes, bench.inbox)
    keep = build_snapshots(
        settings.snapshots,
        bench.run,
        tree=find_paths(tree.folder),
        records=bench.run_dir,
        variables=shared.variables,
        processes=hands,
    )
    place = AgentContext(
        folder=tree.folder, variables=shared.variables, run_variables=own, processes=bench.processes, keep=keep
    )
    cast = stages.build_stages(bench.entry.task, shared.request.stages, settings, place)
    emit(bench.watchers, 0, *map(Warned, (*cast.warnings, *_skipped_stage_warnings(bench))))
    world = _build_effects(bench, trees, tree=tree, place=place, cast=cast)
    rules: Rules[StagedState] = Rules(life.policy, life.patience)
    journal = Journal(bench.runs, bench.run, agent=settings.agent.command or "agent", watchers=bench.watchers)
    began = Began(_build_limits(bench, life.policy.stages), life.spent_usd)
    stop = kernel.run_loop(
        rules,
        None,
        fact=began,
        look=Clock(bench.inbox).observe,
        perform=world.perform,
        wait=bench.inbox.wait,
        journal=journal.append,
    )
    changes = _concluding_changes(stop, bench.tasks.get(bench.entry.task.id), world, shared.request.stages)
    bench.tasks.apply(changes, f"{bench.run}/concluded", bench.run)
    return stop


def _build_effects(
    bench: TaskContext, trees: Worktrees, *, tree: Worktree, place: AgentContext, cast: PipelineStages
) -> PipelineEffects:
    name, loose = bench.entry.task.id, bench.settings.specflow.promise_match == "loose"
    tasks, purse = bench.tasks, bench.pipeline.budget
    judge = stages.build_judge(bench.settings, place, bench.run_dir)

    def verify(claim: Claim, criteria: CompletionCriteria) -> Verdict:
        verdict = verification.verify_claim(claim, criteria, verification.build_tools(bench.processes.borrow, judge))
        purse.add_cost(verdict.cost_usd)
        return verdict

    desk = TaskBoard(
        entry=lambda: tasks.get(name),
        record=lambda changes, key: tasks.apply(changes, key, bench.run),
        list_attempts=lambda role: tasks.history.list_attempts(name, role, 10),
        reserve=lambda: purse.reserve(bench.inbox),
        settle=purse.add_cost,
    )
    specification = tasks.specs.get(bench.entry.task.spec_id).text
    gates = environment.build_gate_env(place.variables, place.run_variables)
    terms = TaskRunConfig(
        run=bench.run, run_dir=bench.run_dir, specification=specification, environment=gates, loose=loose
    )
    site = _build_workspace(bench, trees, tree)
    return PipelineEffects(
        terms, cast.setups, desk=desk, site=site, verify=verify, inbox=bench.inbox, watchers=bench.watchers
    )


def _build_workspace(bench: TaskContext, trees: Worktrees, tree: Worktree) -> Workspace:
    here, index = trees.git.in_folder(tree.folder), os.path.join(bench.run_dir, "index")
    # One a root: leftovers are found. Not below .git: there are tools that find nothing to test in there.
    scratch = trees.get_folder(".landing")
    message = f"Merge {tree.branch}: {bench.entry.task.title}"

    def landed(verify: Callable[[str], str]) -> Landed:
        if not _acquire_landing(bench.pipeline.landing_lock, bench.inbox):
            return Landed(done=False, problem="interrupted")
        try:
            found = land_branch(trees.git, tree, folder=scratch, message=message, verify=verify)
        finally:
            bench.pipeline.landing_lock.release()
        return Landed(
            done=found.done,
            commit=found.commit,
            conflict=found.conflict,
            red=found.check_failure,
            problem=found.problem,
        )

    return Workspace(
        folder=tree.folder,
        diff=lambda: here.diff(tree.base, index),
        tree=lambda: here.hash_tree(index),
        commit_leftovers=lambda message: trees.commit_leftovers(tree, message),
        land=landed,
    )


def _acquire_landing(lock: threading.Lock, inbox: TaskInbox) -> bool:
    """When it is our turn; False: we are to stop before that."""
    while not lock.acquire(timeout=LANDING_POLL_SECONDS):
        if inbox.poll_stop_grace() is not None:
            return False
    return True


def _build_plan(bench: TaskContext) -> TaskPlan:
    """What it is to do, from where it stopped."""
    flow, task, history = bench.settings.specflow, bench.entry.task, bench.tasks.history
    plans = stages.plan_stages(task, bench.pipeline.request.stages, bench.settings, history.list_iterations_to_pass)
    policy = PipelinePolicy(
        task=task.id,
        stages=plans,
        max_send_backs=flow.max_send_backs,
        breaker=flow.circuit_breaker,
        lands=plans[-1].role == ROLES[-1],
        loose=flow.promise_match == "loose",
    )
    return resume_plan(
        TaskPlan(policy, bench.settings.patience), KIND, entry=bench.entry, runs=bench.runs, history=history
    )


def _build_limits(bench: TaskContext, plans: Sequence[StagePlan]) -> Limits:
    """Each stage has its own; these bound all of them together."""
    shared, flow = bench.pipeline, bench.settings.specflow
    rounds = flow.max_send_backs + 1
    most = sum(plan.limit for plan in plans) * rounds + rounds  # a run to resolve a conflict in each
    seconds = None if shared.deadline is None else max(0.0, shared.deadline - time.monotonic())
    return Limits(most, seconds, flow.task_budget_usd)


def _concluding_changes(stop: Stop, entry: Entry, world: PipelineEffects, roles: Sequence[Role]) -> list[Change]:
    """What the board is told at the end."""
    name = entry.task.id
    match stop.outcome:
        case Outcome.COMPLETED if roles[-1] == ROLES[-1]:
            return [board.TaskLanded(name, world.landed_commit)]
        case Outcome.COMPLETED:
            after = ROLES[ROLES.index(roles[-1]) + 1]
            return [board.StageEntered(name, after), board.Released(name)]
        case Outcome.BLOCKED:
            return [board.Blocked(name, f"{stop.why}; its work is on {entry.branch}")]
        case Outcome.INTERRUPTED if stop.why == TASK_CANCELLED:
            return [board.Cancelled(name, CANCELLED_AT_WORK)]
        case Outcome.INTERRUPTED | Outcome.UNUSABLE:
            return [board.Released(name)]
        case _:
            reason = MAX_ITERATIONS_REASON if MAX_ITERATIONS_REASON in stop.why else stop.why
            return [
                board.GaveUp(
                    task=name, iterations_used=entry.task.iteration, last_output=world.last_text, reason=reason
                )
            ]


def _abort(bench: TaskContext, error: RalphError) -> TaskEnding:
    """Something around the work is wrong, not the work."""
    name, why = bench.entry.task.id, f"{error.message}. {error.hint}".strip()
    bench.runs.end(bench.run, time.time(), Outcome.UNUSABLE.value, error.message)
    if bench.tasks.get(name).worker == bench.run:
        bench.tasks.apply([board.Released(name)], f"{bench.run}/released", bench.run)
    outcome = Outcome.UNUSABLE
    emit(
        bench.watchers,
        0,
        RunEnded(run=bench.run, outcome=outcome.value, why=why, exit_code=outcome.exit_code, iterations=0, seconds=0.0),
    )
    return TaskEnding(name, outcome, why)


def _release(shared: PipelineContext, run: str, name: str, error: MachineError) -> TaskEnding:
    """Nobody works on it any more; where not even that can be written, it is told."""
    why = f"{error.message}. {error.hint}"
    if shared.database_file.is_gone:  # to open it would be to make another
        return TaskEnding(name, Outcome.FAILED, why)
    try:
        with _friendly_errors(shared.paths):
            tasks = TaskStore(sqlite.open_database(shared.paths.database))
            if tasks.get(name).worker == run:
                tasks.apply([board.Released(name)], f"{run}/let go", run)
    except MachineError:
        why += f". It is left in progress: `ralph execute --resume {name}` goes on"
    return TaskEnding(name, Outcome.UNUSABLE, why)


def _skipped_stage_warnings(bench: TaskContext) -> list[str]:
    """Stages nobody will have looked through when it lands."""
    roles = bench.pipeline.request.stages
    skipped = [role for role in ROLES if role not in roles and role not in bench.entry.passed]
    return [f"{bench.entry.task.id} skips {', '.join(skipped)}"] if skipped and roles[-1] == ROLES[-1] else []
