"""Use case: take tasks through coder → reviewer → tester → qa, several at once, and land what is proven."""

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ralph.app import wiring
from ralph.app.locked_stores import lock_and_open
from ralph.app.paths import Paths
from ralph.app.pipeline import judging, stages
from ralph.app.pipeline.base_checks import BaseVerdicts
from ralph.app.pipeline.budget import SharedBudget
from ralph.app.pipeline.context import KIND, ExecuteRequest, PipelineContext
from ralph.app.pipeline.execute_wishes import Deadline, ExecuteWishes, find_paused_tasks, list_claimable, list_tried
from ralph.app.pipeline.landed_checks import BrokenLanding, EndingTools, LandedChecks, find_broken_landings
from ralph.app.pipeline.selection import UntouchedTask, choose_first_stage, list_untouched, reopen_tasks, select_tasks
from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.app.pipeline.task_processes import TaskProcesses
from ralph.app.pipeline.task_run import TaskEnding, run_task
from ralph.app.repositories import remember_repository
from ralph.app.run_identity import make_run_id
from ralph.app.runs.settings_watch import SettingsWatch
from ralph.app.session import Callbacks
from ralph.app.stores import open_stores
from ralph.config.schema import Settings
from ralph.core.environment import without_git_vars
from ralph.engine.emit import emit
from ralph.engine.inbox import SignalInbox
from ralph.model import board
from ralph.model.errors import MachineError, UsageError
from ralph.model.events import Paused, Warned
from ralph.model.loop import Outcome
from ralph.model.ports import Processes, Watcher
from ralph.model.spec import Task
from ralph.model.store_ports import Stores, TaskStore
from ralph.process.shell import find_program
from ralph.process.supervisor import Supervisor
from ralph.workspaces.exported_tree import remove_abandoned_exports
from ralph.workspaces.git import Git
from ralph.workspaces.landing_turns import LandingTurns
from ralph.workspaces.worktree import Worktree, Worktrees

WORKER_POLL_SECONDS = 0.2
NO_REPOSITORY_HINT = "tasks need branches: run `git init` and commit something first"

WatcherFactory = Callable[[str], Sequence[Watcher]]  # those of one task


class ExecuteReport(Struct, frozen=True, kw_only=True):
    """What became of all that was asked for."""

    endings: tuple[TaskEnding, ...]
    left: tuple[UntouchedTask, ...] = ()
    interrupted: bool = False
    broken: tuple[BrokenLanding, ...] = ()  # tasks of this run that landed, and whose checks fail at its end

    @property
    def exit_code(self) -> int:
        """0 only when all that was asked for is done."""
        outcomes = {ending.outcome for ending in self.endings if not ending.is_cancelled}
        if self.interrupted or Outcome.INTERRUPTED in outcomes:
            return 130
        if Outcome.UNUSABLE in outcomes:
            return Outcome.UNUSABLE.exit_code
        blocked = Outcome.BLOCKED in outcomes or any(left.blocked for left in self.left)
        failed = outcomes - {Outcome.COMPLETED, Outcome.BLOCKED}
        if (
            failed
            or self.broken
            or any(ending.is_cancelled for ending in self.endings)
            or any(not left.blocked for left in self.left)
        ):
            return 1
        return Outcome.BLOCKED.exit_code if blocked else 0


def execute_tasks(
    request: ExecuteRequest,
    paths: Paths,
    *,
    variables: Mapping[str, str],
    callbacks: Callbacks,
    watchers_of: WatcherFactory,
) -> ExecuteReport:
    """Run the requested tasks through their stages, `jobs` at a time, until nothing more can be claimed."""
    git_program = find_program("git", variables)
    if git_program is None or not paths.in_git:
        raise MachineError(f"{paths.root} is not a git repository", NO_REPOSITORY_HINT)
    emit(callbacks.watchers, 0, *map(Warned, _require_agents(request, paths, variables)))
    with (
        lock_and_open(paths, paths.execute_lock, KIND, variables) as stores,
        open_stores(paths, shared=True) as polled,
    ):
        remember_repository(paths, variables)
        stores.control.clear_execute_wishes()
        wishes = ExecuteWishes(polled.control, callbacks.is_cancelled)
        signals = SignalInbox(wishes.is_cancel_wanted, callbacks.on_signal, wishes.is_stop_wanted)
        watch = SettingsWatch(paths, variables, run=make_run_id())
        try:
            with _open_repository(git_program, paths, variables, signals) as git:
                target = _resolve_target(request, git)
                _refuse_empty_board(stores.tasks)
                _remove_stale_worktrees(paths, git, stores.tasks)
            if pause := wishes.find_pause():
                emit(callbacks.watchers, 0, Paused(pause.by))
            context = PipelineContext(
                request=request,
                paths=paths,
                variables=without_git_vars(variables),
                git=git,
                target=target,
                signals=signals,
                budget=_share_budget(request),
                deadline=Deadline(request.settings.max_time_seconds),
                wishes=wishes,
                watchers_of=watchers_of,
                sibling_guardians=set(),
                landings=LandingTurns(),
                state_file=stores.file,
                watch=watch,
                landed=LandedChecks(),
                base_verdicts=BaseVerdicts(),
            )
            return WorkerPool(context).run(stores)
        finally:
            watch.close()
            signals.close()


class WorkerPool:
    """N worker threads over one board; the main thread waits and receives signals."""

    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._busy_count = 0
        self._claimed_ids: set[str] = set()  # each task is tried once, unless a person wants it tried again
        self._told_paused: set[str] = set()
        self._endings: list[TaskEnding] = []
        self._errors: list[BaseException] = []

    def run(self, stores: Stores) -> ExecuteReport:
        """Until nothing can be claimed; an error of a worker is raised here, after all have ended."""
        request, tasks = self._context.request, stores.tasks
        wanted = select_tasks(request, tasks)
        asked = {card.id: card.status for card in tasks.list_cards() if card.id in wanted and card.status != "done"}
        at_work = _list_tasks_at_work(tasks, wanted)
        _require_judge(self._context, at_work)
        self._context.asked_criteria.update(
            (task.id, stages.list_criteria(task, request.stages, request.settings)) for task in at_work
        )
        if request.resume:
            reopen_tasks(wanted, tasks, stores.runs)
        workers = [
            threading.Thread(target=self._run_worker, args=(wanted,), name=f"worker-{n}")
            for n in range(min(request.jobs, max(1, len(wanted))))
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():
                began = time.monotonic()
                worker.join(WORKER_POLL_SECONDS)  # short waits: signals are handled in between
                if self._context.wishes.find_pause():
                    self._context.deadline.extend(time.monotonic() - began)
        if self._errors:
            raise self._errors[0]
        left = list_untouched(request, tasks, self._claimed_ids, asked)
        broken = () if self._context.signals.poll_interruption() else self._check_landings()
        interrupted = bool(self._context.signals.poll_interruption())
        endings = tuple({ending.task: ending for ending in self._endings}.values())  # the last of each
        return ExecuteReport(endings=endings, left=left, interrupted=interrupted, broken=broken)

    def _check_landings(self) -> tuple[BrokenLanding, ...]:
        context = self._context
        if not context.landed.list_targets():
            return ()
        processes = TaskProcesses(TaskInbox(context.signals, lambda: False), context.sibling_guardians)
        try:
            with _open_containment(context, processes) as contain:
                ending = EndingTools(
                    git=context.git,
                    processes=processes,
                    environment=wiring.build_gate_variables(context.variables, {}),
                    contain=contain,
                )
                return find_broken_landings(context.landed, ending)
        finally:
            processes.close()

    def _run_worker(self, wanted: tuple[str, ...]) -> None:
        try:
            with open_stores(self._context.paths) as stores:
                while (entry := self._claim_next(stores, wanted)) is not None:
                    try:
                        self._endings.append(run_task(self._context, entry))
                    finally:
                        with self._lock:
                            self._busy_count -= 1
        except BaseException as error:  # noqa: BLE001  # told by the main thread, which waits for all
            self._errors.append(error)

    def _claim_next(self, stores: Stores, wanted: tuple[str, ...]) -> board.Entry | None:
        """The next task for this worker, waited for while others may free one, or people; None: there is nothing left
        to do."""
        request, tasks = self._context.request, stores.tasks
        while not self._context.signals.poll_interruption() and not self._is_over():
            if self._context.wishes.find_pause() is None:
                with self._lock:
                    tried = list_tried(tasks, self._claimed_ids)
                    among = list_claimable(tasks, wanted, bool(request.tasks))
                    entry = tasks.claim(make_run_id(), among, tried, lambda task: choose_first_stage(request, task))
                    if entry is not None:
                        self._claimed_ids.add(entry.task.id)
                        self._busy_count += 1
                        return entry
                    if not self._busy_count and not self._waits_for_people(stores, wanted, tried):
                        return None
            time.sleep(WORKER_POLL_SECONDS)  # what the others finish may free what waits
        return None

    def _waits_for_people(self, stores: Stores, wanted: tuple[str, ...], tried: Collection[str]) -> bool:
        """Whether a task is paused that could be started; that is told once."""
        paused = find_paused_tasks(stores.tasks, stores.control, wanted, tried)
        for pause in paused:
            if pause.subject.name not in self._told_paused:
                self._told_paused.add(pause.subject.name)
                emit(self._context.watchers_of(pause.subject.name), 0, Paused(pause.by))
        return bool(paused)

    def _is_over(self) -> bool:
        left, seconds = self._context.budget.remaining_usd(), self._context.deadline.find_seconds_left()
        is_late = seconds is not None and seconds <= 0 and self._context.wishes.find_pause() is None
        is_spent = left is not None and left <= 0
        return is_late or is_spent or self._context.state_file.is_gone or self._context.wishes.is_draining()


@contextmanager
def _open_containment(context: PipelineContext, processes: TaskProcesses) -> Iterator[Callable[[Processes], Processes]]:
    """For checks of no task in particular: in the sandbox that all tasks had."""
    request = context.request
    if request.isolation.kind is None:
        yield lambda inner: inner
        return
    from ralph.app.sandbox.opening import open_containment  # most runs start without
    from ralph.app.sandbox.plan import SandboxRequest

    settings, variables = request.settings, context.variables
    agents = [stages.resolve_stage_agent(role, settings, context.paths.folder, variables) for role in request.stages]
    wanted = SandboxRequest(
        run=make_run_id(),
        paths=context.paths,
        settings=settings.sandbox,
        protected=settings.protected,
        adapters=[*dict.fromkeys(agent.adapter for agent in agents)],
        programs=[agent.argv[0] for agent in agents if agent.argv],
        variables=variables,
    )
    with open_containment(request.isolation.kind, wanted, processes) as containment:
        yield containment.through


def _require_agents(request: ExecuteRequest, paths: Paths, variables: Mapping[str, str]) -> list[str]:
    """What is wrong for every task is told before any is started; what their CLIs cannot do, each once."""
    warnings: dict[str, None] = {}
    for role in request.stages:
        agent_command = stages.resolve_stage_agent(role, request.settings, paths.folder, variables)
        wiring.refuse_unenforceable_budget(agent_command, _choose_budget(request.settings))
        warnings |= dict.fromkeys(wiring.find_agent_warnings(agent_command, variables))
    return [*warnings]


def _list_tasks_at_work(tasks: TaskStore, wanted: Sequence[str]) -> list[Task]:
    found = (tasks.get(name).task for name in wanted)
    return [task for task in found if task.status not in ("done", "blocked")]


def _require_judge(context: PipelineContext, at_work: Sequence[Task]) -> None:
    """Fail early where a selected task will need a judge and nobody can be one."""
    settings, budget_usd = context.request.settings, _choose_budget(context.request.settings)
    for role in context.request.stages:
        if any(stages.is_judged(task, role, settings) for task in at_work):
            judging.require_judge(role, settings, context.paths.folder, context.variables, budget_usd=budget_usd)


def _share_budget(request: ExecuteRequest) -> SharedBudget:
    usd, is_reviewed = request.settings.budget_usd, len(request.stages) > 1
    return SharedBudget(usd, (usd or 0.0) * request.settings.budget_reserve if is_reviewed else 0.0)


def _choose_budget(settings: Settings) -> float | None:
    budgets = (settings.budget_usd, settings.specflow.task_budget_usd, settings.budget_usd_per_day)
    return next((usd for usd in budgets if usd is not None), None)


@contextmanager
def _open_repository(program: str, paths: Paths, variables: Mapping[str, str], signals: SignalInbox) -> Iterator[Git]:
    """Git for the preparations, before any task has processes of its own. What agents add to its settings and hooks
    from now on is not run."""
    processes = Supervisor(signals)
    try:
        common = os.path.dirname(paths.state)
        git = Git(program, paths.root, environment=variables, processes=processes, common=common)
        yield git.with_guard().with_identity()
    finally:
        processes.close()


def _resolve_target(request: ExecuteRequest, git: Git) -> str:
    """The branch everything lands on; asked once, whatever the user checks out meanwhile."""
    target = request.target or git.read_branch()
    if not target:
        raise MachineError("no branch is checked out", "name the branch to merge into: `ralph execute --target BRANCH`")
    if not git.find_commit(f"refs/heads/{target}"):
        raise MachineError(f"there is no commit on branch {target!r}", NO_REPOSITORY_HINT)
    return target


def _refuse_empty_board(tasks: TaskStore) -> None:
    """ "Every task is done" would be a strange word for none."""
    if not tasks.list_cards():
        hint = "create one with `ralph task create`, or `ralph task import FILE`"
        raise UsageError("there are no tasks here yet", hint)


def _remove_stale_worktrees(paths: Paths, git: Git, tasks: TaskStore) -> None:
    """Remove work trees of done tasks whose run was killed before it could, and what it had checked out to check."""
    remove_abandoned_exports(git, os.path.dirname(paths.state))
    trees = Worktrees(git, paths.root, os.path.dirname(paths.state))
    done = {card.id for card in tasks.list_cards() if card.status == "done"}
    for name in done.intersection(trees.list_tasks()):
        entry = tasks.get(name)
        trees.remove_if_landed(
            Worktree(folder=trees.get_folder(name), branch=entry.branch, target=entry.target, base="")
        )
