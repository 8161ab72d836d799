"""Use case: take tasks through coder → reviewer → tester → qa, several at once, and land what is proven."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ralph.app import wiring
from ralph.app.paths import Paths
from ralph.app.pipeline import stages
from ralph.app.pipeline.budget import SharedBudget
from ralph.app.pipeline.task_run import KIND, ExecuteRequest, PipelineContext, TaskEnding, run_task
from ralph.app.runs.recovery import is_run_alive
from ralph.app.session import Callbacks, lock_and_open, make_run_id
from ralph.config.schema import Settings
from ralph.core.environment import without_git_vars
from ralph.core.tasks.task_rules import is_only_work_cancelled
from ralph.engine.inbox import SignalInbox
from ralph.model import board
from ralph.model.board import Change, NoSuchTask, TaskCard
from ralph.model.errors import MachineError
from ralph.model.loop import Outcome
from ralph.model.ports import Watcher
from ralph.model.spec import ROLES, Role, Task
from ralph.process.shell import find_program
from ralph.process.supervisor import Supervisor
from ralph.stores import sqlite
from ralph.stores.runs import RunStore
from ralph.stores.tasks import TaskStore
from ralph.workspaces.git import Git
from ralph.workspaces.worktree import Worktree, Worktrees

WORKER_POLL_SECONDS = 0.2
NO_REPOSITORY_HINT = "tasks live on branches: `git init`, and commit something first"

WatcherFactory = Callable[[str], Sequence[Watcher]]  # those of one task


class UntouchedTask(Struct, frozen=True):
    """A task that was asked for and that nobody worked on."""

    task: str
    why: str
    blocked: bool = False


class ExecuteReport(Struct, frozen=True):
    """What became of all that was asked for."""

    endings: tuple[TaskEnding, ...]
    left: tuple[UntouchedTask, ...] = ()
    interrupted: bool = False

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
        if failed or any(ending.is_cancelled for ending in self.endings) or any(not left.blocked for left in self.left):
            return 1
        return Outcome.BLOCKED.exit_code if blocked else 0


def execute_tasks(
    request: ExecuteRequest,
    places: Paths,
    *,
    variables: Mapping[str, str],
    wishes: Callbacks,
    watchers_of: WatcherFactory,
) -> ExecuteReport:
    """All that was asked for, as far as it goes."""
    git = find_program("git", variables)
    if git is None or not places.in_git:
        raise MachineError(f"{places.root} is no git repository", NO_REPOSITORY_HINT)
    _require_agents(request, places, variables)
    with lock_and_open(places, places.execute_lock, KIND):
        signals = SignalInbox(wishes.is_cancelled, wishes.on_signal)
        try:
            with _open_repository(git, places, variables, signals) as repository:
                target = _resolve_target(request, repository)
                _remove_stale_worktrees(places, repository)
            budget, most = request.settings.budget_usd, request.settings.max_time_seconds
            deadline = None if most is None else time.monotonic() + most
            lock, kin = threading.Lock(), set[int]()
            shared = PipelineContext(
                request=request,
                paths=places,
                variables=without_git_vars(variables),
                git=git,
                target=target,
                signals=signals,
                budget=SharedBudget(budget),
                deadline=deadline,
                watchers_of=watchers_of,
                sibling_guardians=kin,
                landing_lock=lock,
                database_file=sqlite.identify_database(places.database),
            )
            return WorkerPool(shared).run()
        finally:
            signals.close()


class WorkerPool:
    """N workers over one board; the main thread only waits, and hears signals."""

    def __init__(self, shared: PipelineContext) -> None:
        self._context = shared
        self._lock = threading.Lock()
        self._busy_count = 0
        self._claimed_ids: set[str] = set()  # each task is tried once
        self._endings: list[TaskEnding] = []
        self._errors: list[BaseException] = []

    def run(self) -> ExecuteReport:
        """Until nothing can be claimed any more."""
        shared = self._context
        database = sqlite.open_database(shared.paths.database)
        tasks = TaskStore(database)
        wanted = _select_tasks(shared.request, tasks)
        _require_judge(shared, tasks, wanted)
        if shared.request.resume:
            _reopen_tasks(wanted, tasks, RunStore(database))
        workers = [
            threading.Thread(target=self._run_worker, args=(wanted,), name=f"worker-{n}")
            for n in range(min(shared.request.jobs, max(1, len(wanted))))
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():
                worker.join(WORKER_POLL_SECONDS)  # short waits: signals are handled in between
        if self._errors:
            raise self._errors[0]
        left = _list_untouched(shared.request, tasks, self._claimed_ids)
        return ExecuteReport(tuple(self._endings), left, bool(shared.signals.poll_interruption()))

    def _run_worker(self, wanted: tuple[str, ...]) -> None:
        try:
            self._claim_and_run(wanted)
        except BaseException as error:  # noqa: BLE001  # told by the main thread, which waits for all
            self._errors.append(error)

    def _claim_and_run(self, wanted: tuple[str, ...]) -> None:
        tasks = TaskStore(sqlite.open_database(self._context.paths.database))
        request = self._context.request
        while not self._context.signals.poll_interruption() and not self._is_over():
            run = make_run_id()
            with self._lock:
                entry = tasks.claim(run, wanted, self._claimed_ids, lambda task: _first_stage(request, task))
                others = self._busy_count
                if entry is not None:
                    self._claimed_ids.add(entry.task.id)
                    self._busy_count += 1
            if entry is not None:
                self._run_claimed(run, entry)
            elif others:
                time.sleep(WORKER_POLL_SECONDS)  # what the others finish may free what waits
            else:
                return

    def _run_claimed(self, run: str, entry: board.Entry) -> None:
        try:
            self._endings.append(run_task(self._context, run, entry))
        finally:
            with self._lock:
                self._busy_count -= 1

    def _is_over(self) -> bool:
        left, deadline = self._context.budget.remaining_usd(), self._context.deadline
        late = deadline is not None and time.monotonic() >= deadline
        return late or (left is not None and left <= 0) or self._context.database_file.is_gone


def _first_stage(request: ExecuteRequest, task: Task) -> Role | None:
    """The stage it begins with; None: where it stopped. A subset is begun anew, unless it is to be gone on with."""
    roles = request.stages
    return None if roles == ROLES or (request.resume and task.stage in roles) else roles[0]


def _require_agents(request: ExecuteRequest, places: Paths, variables: Mapping[str, str]) -> None:
    """What is wrong for every task is told before any is begun."""
    for role in request.stages:
        crew = stages.resolve_stage_agent(role, request.settings, places.folder, variables)
        wiring.refuse_unenforceable_budget(crew, _effective_budget(request.settings))


def _require_judge(shared: PipelineContext, tasks: TaskStore, wanted: Sequence[str]) -> None:
    """So is a judge that somebody is going to need."""
    settings = shared.request.settings
    if settings.specflow.judge is None:
        return
    found = [tasks.get(name).task for name in wanted]
    at_work = [task for task in found if task.status not in ("done", "blocked")]
    if any(stages.is_judged(task, role, settings) for task in at_work for role in shared.request.stages):
        stages.require_judge(settings, shared.paths.folder, shared.variables, _effective_budget(settings))


def _effective_budget(settings: Settings) -> float | None:
    budgets = (settings.budget_usd, settings.specflow.task_budget_usd)
    return next((usd for usd in budgets if usd is not None), None)


@contextmanager
def _open_repository(program: str, places: Paths, variables: Mapping[str, str], signals: SignalInbox) -> Iterator[Git]:
    """The repository, before anyone works in it."""
    processes = Supervisor(signals)
    try:
        yield Git(
            program, places.root, environment=variables, processes=processes, common=os.path.dirname(places.state)
        )
    finally:
        processes.close()


def _resolve_target(request: ExecuteRequest, git: Git) -> str:
    """Where all of it is to land; asked once, whatever the user checks out meanwhile."""
    target = request.target or git.read_branch()
    if not target:
        raise MachineError("no branch is checked out", "say where to land: `ralph execute --target BRANCH`")
    if not git.find_commit(f"refs/heads/{target}"):
        raise MachineError(f"there is no commit on branch {target!r}", NO_REPOSITORY_HINT)
    return target


def _remove_stale_worktrees(places: Paths, git: Git) -> None:
    """Remove what a run did not come to remove that was killed when its task was done."""
    trees, tasks = (
        Worktrees(git, places.root, os.path.dirname(places.state)),
        TaskStore(sqlite.open_database(places.database)),
    )
    done = {card.id for card in tasks.list_cards() if card.status == "done"}
    for name in done.intersection(trees.list_tasks()):
        entry = tasks.get(name)
        trees.remove_if_landed(
            Worktree(folder=trees.get_folder(name), branch=entry.branch, target=entry.target, base="")
        )


def _select_tasks(request: ExecuteRequest, tasks: TaskStore) -> tuple[str, ...]:
    """Those named, or all but what somebody gave up: that comes back only by name."""
    cards = {card.id: card for card in tasks.list_cards()}
    if unknown := [name for name in request.tasks if name not in cards]:
        raise NoSuchTask(f"no task {unknown[0]!r}", "see `ralph task list`")
    given_up = {
        name
        for name, card in cards.items()
        if card.status == "cancelled" and not is_only_work_cancelled(tasks.get(name).task)
    }
    return request.tasks or tuple(name for name in cards if name not in given_up)


def _reopen_tasks(wanted: Sequence[str], tasks: TaskStore, runs: RunStore) -> None:
    """What was cut off or cancelled may be claimed again."""
    cards = {card.id: card for card in tasks.list_cards()}
    for name in wanted:
        if change := _reopening_change(cards[name], runs):
            tasks.apply([change], f"resume/{make_run_id()}/{name}")


def _reopening_change(card: TaskCard, runs: RunStore) -> Change | None:
    if card.status == "cancelled":
        return board.Reopened(card.id)
    return board.Released(card.id) if _is_orphaned(card, runs) else None


def _is_orphaned(card: TaskCard, runs: RunStore) -> bool:
    record = runs.find_record(card.worker) if card.status == "in_progress" else None
    return card.status == "in_progress" and (record is None or not is_run_alive(record))


def _list_untouched(request: ExecuteRequest, tasks: TaskStore, taken: set[str]) -> tuple[UntouchedTask, ...]:
    cards = {card.id: card for card in tasks.list_cards()}
    asked = [cards[name] for name in request.tasks or cards if name not in taken]
    given_up = () if request.tasks else ("cancelled",)
    return tuple(_explain_untouched(card, cards) for card in asked if card.status not in ("done", *given_up))


def _explain_untouched(card: TaskCard, cards: Mapping[str, TaskCard]) -> UntouchedTask:
    needs = [need for need in card.needs if cards[need].status != "done"]
    match card.status:
        case "blocked":
            return UntouchedTask(card.id, f"is blocked: `ralph task show {card.id}`", blocked=True)
        case "in_progress" | "cancelled":
            return UntouchedTask(
                card.id, f"is {card.status.replace('_', ' ')}: `ralph execute --resume {card.id}` goes on"
            )
        case _ if needs:
            return UntouchedTask(card.id, f"waits for {', '.join(needs)}")
        case _:
            return UntouchedTask(card.id, "was not begun")
