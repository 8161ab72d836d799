"""Each decision of `ralph supervise`, and the fact it comes to."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ralph.engine.loops.supervise import AgentAttempts, SuperviseEffects
from ralph.model.command import CommandEnding, CommandExit
from ralph.model.events import Noted, Warned
from ralph.model.loop import Await, Awaited, Brief, Check, Interrupted, Look, Looked, Reported, RunAgent, Wait
from ralph.model.supervised import AttemptRecord, TaskPaths
from support.quiet_inbox import QuietInbox
from support.scripted_processes import (
    AnsweringAgent,
    AskedAgent,
    Listener,
    Ran,
    ScriptedProcesses,
    make_runner,
    say,
    stopped,
)

POLL_SECONDS = 0.03
FIRST = RunAgent(Brief(iteration=1, limit=3, budget_usd=0.25))
SECOND = RunAgent(Brief(iteration=2, limit=3))
LAST = RunAgent(Brief(iteration=3, limit=3))
RESTART = Wait(1.0, "before the restart")


class PatientInbox(QuietInbox):
    """Remembers how long it was to wait, and does what a test wants meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.meanwhile: Callable[[], object] = int

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.meanwhile()


class Around:
    """A task's records and neighbours, as the test sets them."""

    guardian_pid = 4711

    def __init__(self) -> None:
        self.order: list[str] = []
        self.records: list[AttemptRecord] = []
        self.children: list[str] = []
        self.unmet: list[str] = []
        self.wait_request = ""

    def begin(self, attempt: AttemptRecord) -> None:
        self.order.append("begin")
        self.records.append(attempt)

    def save(self, attempt: AttemptRecord) -> None:
        self.order.append("save")
        self.records.append(attempt)

    def read_wait_request(self) -> str:
        return self.wait_request

    def list_active_children(self) -> list[str]:
        return [*self.children]

    def list_unmet_dependencies(self) -> list[str]:
        return [*self.unmet]


class Task:
    """A task folder, and everything its loop touches."""

    def __init__(self, folder: Path, listener: Listener) -> None:
        self.folder, self.listener = folder, listener
        self.place = TaskPaths(str(folder), "the-project", "the-task")
        self.around, self.agent, self.inbox = Around(), AskedAgent(), PatientInbox()
        self.processes = ScriptedProcesses()
        (folder / "TASK.md").write_text("Build a wall\n")

    def make_effects(self, *script: Ran) -> SuperviseEffects:
        self.processes = ScriptedProcesses(*script)
        cwd = self.folder.parent
        self.attempts = AgentAttempts(
            "the-run",
            self.place,
            runner=make_runner(self.agent, self.processes, cwd, environment={"PATH": "/bin"}),
            log=self.around,
            watchers=[self.listener],
        )
        return SuperviseEffects(self.place, self.attempts, self.around, inbox=self.inbox, poll_interval=POLL_SECONDS)

    @property
    def words(self) -> list[Warned | Noted]:
        return [event for _, event in self.listener.told if isinstance(event, Warned | Noted)]


@pytest.fixture
def task(tmp_path: Path, listener: Listener) -> Iterator[Task]:
    folder = tmp_path / "task"
    folder.mkdir()
    made = Task(folder, listener)
    yield made
    made.inbox.close()


def crash(code: int) -> Ran:
    return Ran(stderr=b"boom\n", exited=CommandExit(code=code, seconds=1.0))


# -- an attempt -----------------------------------------------------------------------------------
def test_the_agent_reads_where_the_task_is_where_its_run_is_and_the_task(task: Task) -> None:
    task.make_effects(say("done")).perform(FIRST)
    folder = task.around.records[0].folder
    ((prompt, mode, budget),) = task.agent.asked
    assert prompt.startswith(f"TASK_FOLDER={task.folder}\nRUN_FOLDER={folder}\n\nBuild a wall\n")
    assert (mode, budget) == ("stream", 0.25)


def test_a_restarted_agent_is_told_to_go_on(task: Task) -> None:
    effects = task.make_effects(say("a"), say("b"))
    effects.perform(FIRST)
    effects.perform(SECOND)
    assert ["Continue working on the following:" in prompt for prompt, _, _ in task.agent.asked] == [False, True]


def test_it_finds_its_task_and_its_attempt_in_its_environment(task: Task) -> None:
    task.make_effects(say("done")).perform(SECOND)
    attempt, command = task.around.records[0], task.processes.commands[0]
    assert command.cwd == str(task.folder.parent)
    assert command.environment == {
        "PATH": "/bin",
        "FROM": "its adapter",
        "RALPH_ITERATION": "2",
        "RALPH_ATTEMPT_ID": attempt.id,
        "RALPH_PROJECT": "the-project",
        "RALPH_TASK": "the-task",
        "RUN_FOLDER": attempt.folder,
    }


def test_an_attempt_is_on_record_before_its_agent_starts(task: Task) -> None:
    before = time.time()
    task.make_effects(Ran(stdout=say("done").stdout, act=lambda: task.around.order.append("agent"))).perform(SECOND)
    assert task.around.order == ["begin", "agent", "save"]
    begun = task.around.records[0]
    assert begun == AttemptRecord(
        id=begun.id,
        run="the-run",
        number=1,
        previous=None,
        project="the-project",
        folder=f"{task.folder}/runs/{begun.id}",
        pid=4711,
        started_at=begun.started_at,
    )
    assert before <= begun.started_at <= time.time()


def test_its_words_are_kept_in_its_folder(task: Task) -> None:
    task.agent = AnsweringAgent()  # one that reads its prompt on stdin
    task.make_effects(Ran(stdout=say("All done.").stdout, stderr=b"careful\n")).perform(FIRST)
    folder = Path(task.around.records[0].folder)
    assert task.processes.commands[0].argv[1] == f"{folder}/answer.txt"
    assert (folder / "prompt.md").read_text() == task.agent.asked[0][0]
    assert (folder / "output.md").read_text() == "All done."
    assert (folder / "agent-stdout.txt").read_bytes() == say("All done.").stdout
    assert (folder / "agent-stderr.txt").read_text() == "careful\n"


def test_one_that_ended_well_is_completed_and_the_next_knows_it(task: Task) -> None:
    effects = task.make_effects(say("a"), say("b"))
    assert isinstance(effects.perform(FIRST), Reported)
    effects.perform(SECOND)
    _, ended, following, _ = task.around.records
    assert (ended.status, ended.exit_code, ended.error) == ("completed", 0, "")
    assert ended.ended_at is not None
    assert following.previous == ended.id != following.id


def test_one_that_failed_is_on_record_with_its_exit_code_and_its_words(task: Task) -> None:
    reported = task.make_effects(crash(3)).perform(FIRST)
    assert isinstance(reported, Reported)
    ended = task.around.records[-1]
    assert (ended.status, ended.exit_code, ended.error) == ("failed", 3, reported.detail)


def test_one_that_claims_success_with_another_exit_code_failed(task: Task) -> None:
    task.make_effects(say("a", exit_code=1)).perform(FIRST)
    ended = task.around.records[-1]
    assert (ended.status, ended.exit_code) == ("failed", 1)


def test_one_that_was_stopped_is_on_record_as_such(task: Task) -> None:
    assert task.make_effects(stopped("received SIGTERM")).perform(FIRST) == Interrupted("received SIGTERM")
    ended = task.around.records[-1]
    assert (ended.status, ended.exit_code, ended.error) == ("stopped", None, "received SIGTERM")
    assert ended.ended_at is not None


def test_without_its_task_nothing_is_started_and_the_attempt_failed(task: Task) -> None:
    (task.folder / "TASK.md").unlink()
    reported = task.make_effects().perform(FIRST)
    detail = f"cannot read {task.folder}/TASK.md: No such file or directory. write the task into it"
    assert reported == Reported(outcome="unusable", detail=detail)
    assert (task.around.records[-1].status, task.around.records[-1].error) == ("failed", detail)


@pytest.mark.parametrize(
    ("ending", "warning"), [("timed_out", "Agent timeout after 1m0s"), ("idle", "Agent silent for 7s")]
)
def test_one_that_took_too_long_is_explained_by_its_own_limit(task: Task, ending: CommandEnding, warning: str) -> None:
    exited = CommandExit(code=-15, seconds=60.0, ending=ending)
    task.make_effects(Ran(exited=exited)).perform(FIRST)
    assert task.words == [
        Warned(f"{warning}, killing process group"),
        Noted("Process group killed, treating as failure"),
    ]


# -- the restart ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("ran", "warning", "note"),
    [
        (say("a"), "ended without DONE", "ended (exit 0)"),
        (crash(3), "failed with exit code 3", "failed (exit 3)"),
    ],
)
def test_a_restart_is_announced_and_the_wait_left_to_the_kernel(task: Task, ran: Ran, warning: str, note: str) -> None:
    effects = task.make_effects(ran)
    effects.perform(FIRST)
    assert effects.perform(RESTART) is None
    assert task.words[-2:] == [
        Warned(f"Agent {warning}, restarting (attempt 2/3)"),
        Noted(f"Attempt 1: Agent {note}, restarting..."),
    ]
    assert task.inbox.waits == []


def test_after_the_last_attempt_no_restart_is_announced(task: Task) -> None:
    effects = task.make_effects(say("a"))
    effects.perform(LAST)
    effects.perform(RESTART)
    assert task.words == [Noted("Attempt 3: Max restarts exceeded, stopping")]


def test_before_the_first_attempt_there_is_nothing_to_announce(task: Task) -> None:
    assert task.make_effects().perform(RESTART) is None
    assert task.words == []


# -- the marks ------------------------------------------------------------------------------------
def test_done_is_enough_whatever_it_says(task: Task) -> None:
    (task.folder / "DONE").touch()
    task.around.unmet, task.around.wait_request = ["other"], "it waits"
    assert task.make_effects().perform(Look()) == Looked(done=True)


def test_a_folder_is_no_mark(task: Task) -> None:
    (task.folder / "DONE").mkdir()
    assert task.make_effects().perform(Look()) == Looked(problem="DONE is a directory")


def test_a_mark_that_cannot_be_looked_at_is_a_problem(task: Task) -> None:
    task.place = TaskPaths(f"{task.folder}/TASK.md", "the-project", "the-task")
    assert task.make_effects().perform(Look()) == Looked(problem="stat DONE: Not a directory")


def test_without_done_wishes_and_dependencies_are_told(task: Task) -> None:
    task.around.unmet, task.around.wait_request = ["one", "two"], "it said so on the message bus: a key is missing"
    found = Looked(waits="it said so on the message bus: a key is missing", needs=("one", "two"))
    assert task.make_effects().perform(Look()) == found


def test_a_wish_counts_when_it_was_made_since_the_last_agent_started(task: Task) -> None:
    mark = task.folder / "WAIT_WITHOUT_RESTART"
    mark.touch()
    effects = task.make_effects(say("a"))
    effects.perform(FIRST)
    assert effects.perform(Look()) == Looked(waits="the file WAIT_WITHOUT_RESTART is there")
    started = task.attempts.started_at
    assert started == task.around.records[0].started_at
    os.utime(mark, (started - 5, started - 5))
    assert effects.perform(Look()) == Looked()


# -- others ---------------------------------------------------------------------------------------
def test_children_are_waited_for_until_none_is_left(task: Task) -> None:
    task.around.children, task.around.unmet = ["a", "b"], ["never"]
    task.inbox.meanwhile = task.around.children.pop
    assert task.make_effects().perform(Await("children", 60.0)) == Awaited()
    assert task.inbox.waits == [POLL_SECONDS, POLL_SECONDS]


def test_dependencies_are_waited_for_without_a_limit(task: Task) -> None:
    task.around.children, task.around.unmet = ["never"], ["a"]
    task.inbox.meanwhile = task.around.unmet.pop
    assert task.make_effects().perform(Await("dependencies")) == Awaited()


def test_those_left_when_the_time_is_up_are_named(task: Task) -> None:
    task.around.children = ["a", "b"]
    task.inbox.meanwhile = lambda: time.sleep(0.02)
    assert task.make_effects().perform(Await("children", 0.01)) == Awaited(("a", "b"))
    assert len(task.inbox.waits) == 1


def test_an_interruption_ends_the_wait_for_others(task: Task) -> None:
    task.around.children = ["a"]
    task.inbox.meanwhile = lambda: setattr(task.inbox, "by", "received SIGINT")
    assert task.make_effects().perform(Await("children", 60.0)) == Interrupted("received SIGINT")


def test_gates_are_no_business_of_its_own(task: Task) -> None:
    assert task.make_effects().perform(Check(("lint",), 1)) is None
