"""What the tasks of one `ralph execute` run with: things all of them share, and things of each alone."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.pipeline.base_checks import BaseVerdicts
from ralph.app.pipeline.budget import SharedBudget
from ralph.app.pipeline.execute_wishes import Deadline, ExecuteWishes
from ralph.app.pipeline.landed_checks import LandedChecks
from ralph.app.pipeline.task_board import StoredTaskBoard
from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.app.pipeline.task_processes import TaskProcesses
from ralph.app.run_identity import identify_owner, name_subjects
from ralph.app.runs.heartbeat import Heartbeat
from ralph.app.runs.living_runs import announce_run
from ralph.app.sandbox.choice import Isolation
from ralph.app.session import Session
from ralph.app.stores import friendly_errors, open_stores
from ralph.config.schema import Settings
from ralph.engine.event_log import EventLog
from ralph.engine.inbox import SignalInbox
from ralph.engine.redaction import RedactingWatcher
from ralph.engine.wishes import AgentStopWatch
from ralph.model.board import Entry
from ralph.model.errors import MachineError
from ralph.model.ports import ChangeWatch, Processes, Watcher
from ralph.model.spec import ROLES, CompletionCriteria, Role, Task
from ralph.model.store_ports import StateFile, TaskStore
from ralph.workspaces.git import Git
from ralph.workspaces.landing_turns import LandingTurns
from ralph.workspaces.worktree import Worktrees, locate_worktree

KIND = "execute"


class ExecuteRequest(Struct, frozen=True, kw_only=True):
    """Which tasks, how many at once, and which stages of them. Limits are in the settings."""

    settings: Settings
    tasks: tuple[str, ...] = ()  # empty: all that are open
    jobs: int = 1
    stages: tuple[Role, ...] = ROLES
    resume: bool = False
    target: str = ""  # empty: the branch that is checked out
    isolation: Isolation = Isolation()

    @property
    def lands(self) -> bool:
        """Whether a task that passes these stages is merged: a subset ends before that."""
        return self.stages[-1] == ROLES[-1]


class PipelineContext(Struct, frozen=True, kw_only=True):
    """What all tasks of one `ralph execute` share."""

    request: ExecuteRequest
    paths: Paths
    variables: Mapping[str, str]  # of the user
    git: Git  # with settings and hooks as they were before any agent
    target: str  # the branch to land on
    signals: SignalInbox
    budget: SharedBudget
    deadline: Deadline
    wishes: ExecuteWishes  # of people
    watchers_of: Callable[[str], Sequence[Watcher]]  # those of one task
    sibling_guardians: set[int]  # the guardians of all tasks
    landings: LandingTurns
    state_file: StateFile  # of the board
    watch: ChangeWatch  # over settings, prompts and hooks
    landed: LandedChecks  # of tasks that this run has landed
    base_verdicts: BaseVerdicts  # what checks said of the trees where tasks began
    asked_criteria: dict[str, Mapping[Role, CompletionCriteria]] = {}  # by task, as they were when we began

    def open_worktrees(self, processes: Processes) -> Worktrees:
        return Worktrees(self.git.through(processes), self.paths.root, os.path.dirname(self.paths.state))


class TaskContext(Struct, frozen=True, kw_only=True):
    """What one task runs with; each has its own database connection, guardian and inbox."""

    pipeline: PipelineContext
    entry: Entry  # as it was claimed
    board: StoredTaskBoard
    tasks: TaskStore
    session: Session
    processes: TaskProcesses  # those of the session
    inbox: TaskInbox  # the session's

    @contextmanager
    def borrow_contained(self) -> Iterator[Processes]:
        """For a check: in the task's sandbox, where it has one."""
        with self.processes.borrow() as processes:
            yield self.contain(processes)

    def contain(self, processes: Processes) -> Processes:
        containment = self.session.containment
        return processes if containment is None else containment.through(processes)

    @property
    def task(self) -> Task:
        return self.entry.task

    @property
    def request(self) -> ExecuteRequest:
        return self.pipeline.request

    @property
    def settings(self) -> Settings:
        return self.pipeline.request.settings


@contextmanager
def open_task_context(pipeline: PipelineContext, entry: Entry) -> Iterator[TaskContext]:
    paths, task, run = pipeline.paths, entry.task.id, entry.worker
    os.makedirs(paths.run_dir(run), exist_ok=True)
    # `polled` is asked by every thread that verifies for the task.
    with open_stores(paths) as stores, open_stores(paths, shared=True) as polled:
        task_wishes, heartbeat = polled.tasks, Heartbeat(polled.runs, run)
        inbox = TaskInbox(
            pipeline.signals, lambda: heartbeat.is_cancel_wanted() or task_wishes.has_wish(task, "cancel")
        )
        stop_watch = AgentStopWatch(polled.control, name_subjects(run, KIND, task))
        processes = TaskProcesses(inbox, pipeline.sibling_guardians, stop_watch.is_stop_wanted)
        event_log = EventLog(paths.run_dir(run))
        session = Session(
            run=run,
            kind=KIND,
            agent_name=pipeline.request.settings.agent.command,
            task=task,
            paths=paths,
            task_folder=locate_worktree(paths.root, task),
            variables=pipeline.variables,
            runs=stores.runs,
            attempts=stores.attempts,
            control=stores.control,
            inbox=inbox,
            processes=processes,
            watcher=RedactingWatcher((event_log, *pipeline.watchers_of(task)), pipeline.variables),
        )
        board = StoredTaskBoard(stores.tasks, entry, budget=pipeline.budget, inbox=inbox)
        try:
            owner = identify_owner(processes.guardian_pid)
            with announce_run(run, owner, paths, pipeline.variables, task=task), pipeline.budget.join():
                yield TaskContext(
                    pipeline=pipeline,
                    entry=entry,
                    board=board,
                    tasks=stores.tasks,
                    session=session,
                    processes=processes,
                    inbox=inbox,
                )
        finally:
            processes.close()
            event_log.close()


@contextmanager
def translate_disk_errors(paths: Paths) -> Iterator[None]:
    """A full or broken disk is the machine's fault: MachineError, not a failed task."""
    try:
        with friendly_errors(paths):
            yield
    except OSError as error:
        raise MachineError(f"{error.strerror}: {error.filename or paths.state}", "see `ralph doctor`") from error
