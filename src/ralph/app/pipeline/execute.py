"""Use case: take tasks through coder → reviewer → tester → qa, several at once, and land what is proven."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ralph.app import wiring
from ralph.app.paths import Places
from ralph.app.pipeline import stages
from ralph.app.pipeline.task_inbox import Purse
from ralph.app.pipeline.task_run import KIND, Ending, ExecuteRequest, Shared, worked_on
from ralph.app.runs.recovery import lives
from ralph.app.session import Wishes, locked, new_id
from ralph.config.schema import Settings
from ralph.core.environment import elsewhere
from ralph.core.tasks.task_rules import only_its_work_was_cancelled
from ralph.engine.inbox import SignalInbox
from ralph.model import board
from ralph.model.board import Card, Change, NoSuchTask
from ralph.model.errors import MachineError
from ralph.model.loop import Outcome
from ralph.model.ports import Watcher
from ralph.model.spec import ROLES, Role, Task
from ralph.process.shell import find_program
from ralph.process.supervisor import Supervisor
from ralph.stores import sqlite
from ralph.stores.runs import Runs
from ralph.stores.tasks import Tasks
from ralph.workspaces.git import Git
from ralph.workspaces.worktree import Worktree, Worktrees

LOOK_EVERY = 0.2
NO_REPOSITORY = "tasks live on branches: `git init`, and commit something first"

WatcherOf = Callable[[str], Sequence[Watcher]]  # those of one task


class Left(Struct, frozen=True):
    """A task that was asked for and that nobody worked on."""

    task: str
    why: str
    blocked: bool = False


class Report(Struct, frozen=True):
    """What became of all that was asked for."""

    endings: tuple[Ending, ...]
    left: tuple[Left, ...] = ()
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """0 only when all that was asked for is done."""
        outcomes = {ending.outcome for ending in self.endings if not ending.cancelled}
        if self.interrupted or Outcome.INTERRUPTED in outcomes:
            return 130
        if Outcome.UNUSABLE in outcomes:
            return Outcome.UNUSABLE.exit_code
        blocked = Outcome.BLOCKED in outcomes or any(left.blocked for left in self.left)
        failed = outcomes - {Outcome.COMPLETED, Outcome.BLOCKED}
        if failed or any(ending.cancelled for ending in self.endings) or any(not left.blocked for left in self.left):
            return 1
        return Outcome.BLOCKED.exit_code if blocked else 0


def execute(
    request: ExecuteRequest,
    places: Places,
    variables: Mapping[str, str],
    wishes: Wishes,
    watchers_of: WatcherOf,
) -> Report:
    """All that was asked for, as far as it goes."""
    git = find_program("git", variables)
    if git is None or not places.in_git:
        raise MachineError(f"{places.root} is no git repository", NO_REPOSITORY)
    _expect_agents(request, places, variables)
    with locked(places, places.crew_lock, KIND):
        signals = SignalInbox(wishes.cancelled, wishes.on_signal)
        try:
            with _asked(git, places, variables, signals) as repository:
                target = _target(request, repository)
                _tidy(places, repository)
            budget, most = request.settings.budget_usd, request.settings.max_time_seconds
            deadline = None if most is None else time.monotonic() + most
            lock, kin = threading.Lock(), set[int]()
            shared = Shared(
                request,
                places,
                elsewhere(variables),
                git,
                target,
                signals,
                Purse(budget),
                deadline,
                watchers_of,
                kin,
                lock,
                sqlite.home_at(places.database),
            )
            return Crew(shared).work()
        finally:
            signals.close()


class Crew:
    """N workers over one board; the main thread only waits, and hears signals."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._lock = threading.Lock()
        self._busy = 0
        self._taken: set[str] = set()  # each task is tried once
        self._endings: list[Ending] = []
        self._surprises: list[BaseException] = []

    def work(self) -> Report:
        """Until nothing can be claimed any more."""
        shared = self._shared
        database = sqlite.opened(shared.places.database)
        tasks = Tasks(database)
        wanted = _wanted(shared.request, tasks)
        _expect_judge(shared, tasks, wanted)
        if shared.request.resume:
            _reopen(wanted, tasks, Runs(database))
        workers = [
            threading.Thread(target=self._worker, args=(wanted,), name=f"worker-{n}")
            for n in range(min(shared.request.jobs, max(1, len(wanted))))
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():
                worker.join(LOOK_EVERY)  # short waits: signals are handled in between
        if self._surprises:
            raise self._surprises[0]
        left = _left(shared.request, tasks, self._taken)
        return Report(tuple(self._endings), left, bool(shared.signals.interruption()))

    def _worker(self, wanted: tuple[str, ...]) -> None:
        try:
            self._claim_and_run(wanted)
        except BaseException as error:  # noqa: BLE001  # told by the main thread, which waits for all
            self._surprises.append(error)

    def _claim_and_run(self, wanted: tuple[str, ...]) -> None:
        tasks = Tasks(sqlite.opened(self._shared.places.database))
        request = self._shared.request
        while not self._shared.signals.interruption() and not self._over():
            run = new_id()
            with self._lock:
                entry = tasks.claim(run, wanted, self._taken, lambda task: _first(request, task))
                others = self._busy
                if entry is not None:
                    self._taken.add(entry.task.id)
                    self._busy += 1
            if entry is not None:
                self._finish(run, entry)
            elif others:
                time.sleep(LOOK_EVERY)  # what the others finish may free what waits
            else:
                return

    def _finish(self, run: str, entry: board.Entry) -> None:
        try:
            self._endings.append(worked_on(self._shared, run, entry))
        finally:
            with self._lock:
                self._busy -= 1

    def _over(self) -> bool:
        left, deadline = self._shared.purse.left(), self._shared.deadline
        late = deadline is not None and time.monotonic() >= deadline
        return late or (left is not None and left <= 0) or self._shared.home.gone


def _first(request: ExecuteRequest, task: Task) -> Role | None:
    """The stage it begins with; None: where it stopped. A subset is begun anew, unless it is to be gone on with."""
    roles = request.stages
    return None if roles == ROLES or (request.resume and task.stage in roles) else roles[0]


def _expect_agents(request: ExecuteRequest, places: Places, variables: Mapping[str, str]) -> None:
    """What is wrong for every task is told before any is begun."""
    for role in request.stages:
        crew = stages.crew_of(role, request.settings, places.folder, variables)
        wiring.refuse_unkept_budget(crew, _budget(request.settings))


def _expect_judge(shared: Shared, tasks: Tasks, wanted: Sequence[str]) -> None:
    """So is a judge that somebody is going to need."""
    settings = shared.request.settings
    if settings.specflow.judge is None:
        return
    found = [tasks.get(name).task for name in wanted]
    at_work = [task for task in found if task.status not in ("done", "blocked")]
    if any(stages.is_judged(task, role, settings) for task in at_work for role in shared.request.stages):
        stages.expect_judge(settings, shared.places.folder, shared.variables, _budget(settings))


def _budget(settings: Settings) -> float | None:
    budgets = (settings.budget_usd, settings.specflow.task_budget_usd)
    return next((usd for usd in budgets if usd is not None), None)


@contextmanager
def _asked(program: str, places: Places, variables: Mapping[str, str], signals: SignalInbox) -> Iterator[Git]:
    """The repository, before anyone works in it."""
    processes = Supervisor(signals)
    try:
        yield Git(program, places.root, variables, processes, os.path.dirname(places.state))
    finally:
        processes.close()


def _target(request: ExecuteRequest, git: Git) -> str:
    """Where all of it is to land; asked once, whatever the user checks out meanwhile."""
    target = request.target or git.branch()
    if not target:
        raise MachineError("no branch is checked out", "say where to land: `ralph execute --target BRANCH`")
    if not git.commit_of(f"refs/heads/{target}"):
        raise MachineError(f"there is no commit on branch {target!r}", NO_REPOSITORY)
    return target


def _tidy(places: Places, git: Git) -> None:
    """Remove what a run did not come to remove that was killed when its task was done."""
    trees, tasks = Worktrees(git, places.root, os.path.dirname(places.state)), Tasks(sqlite.opened(places.database))
    done = {card.id for card in tasks.board() if card.status == "done"}
    for name in done.intersection(trees.left()):
        entry = tasks.get(name)
        trees.close(Worktree(trees.folder_of(name), entry.branch, entry.target, ""))


def _wanted(request: ExecuteRequest, tasks: Tasks) -> tuple[str, ...]:
    """Those named, or all but what somebody gave up: that comes back only by name."""
    cards = {card.id: card for card in tasks.board()}
    if unknown := [name for name in request.tasks if name not in cards]:
        raise NoSuchTask(f"no task {unknown[0]!r}", "see `ralph task list`")
    given_up = {
        name
        for name, card in cards.items()
        if card.status == "cancelled" and not only_its_work_was_cancelled(tasks.get(name).task)
    }
    return request.tasks or tuple(name for name in cards if name not in given_up)


def _reopen(wanted: Sequence[str], tasks: Tasks, runs: Runs) -> None:
    """What was cut off or cancelled may be claimed again."""
    cards = {card.id: card for card in tasks.board()}
    for name in wanted:
        if change := _reopening(cards[name], runs):
            tasks.apply([change], f"resume/{new_id()}/{name}")


def _reopening(card: Card, runs: Runs) -> Change | None:
    if card.status == "cancelled":
        return board.Reopened(card.id)
    return board.Released(card.id) if _cut_off(card, runs) else None


def _cut_off(card: Card, runs: Runs) -> bool:
    record = runs.record(card.worker) if card.status == "in_progress" else None
    return card.status == "in_progress" and (record is None or not lives(record))


def _left(request: ExecuteRequest, tasks: Tasks, taken: set[str]) -> tuple[Left, ...]:
    cards = {card.id: card for card in tasks.board()}
    asked = [cards[name] for name in request.tasks or cards if name not in taken]
    given_up = () if request.tasks else ("cancelled",)
    return tuple(_why(card, cards) for card in asked if card.status not in ("done", *given_up))


def _why(card: Card, cards: Mapping[str, Card]) -> Left:
    needs = [need for need in card.needs if cards[need].status != "done"]
    match card.status:
        case "blocked":
            return Left(card.id, f"is blocked: `ralph task show {card.id}`", blocked=True)
        case "in_progress" | "cancelled":
            return Left(card.id, f"is {card.status.replace('_', ' ')}: `ralph execute --resume {card.id}` goes on")
        case _ if needs:
            return Left(card.id, f"waits for {', '.join(needs)}")
        case _:
            return Left(card.id, "was not begun")
