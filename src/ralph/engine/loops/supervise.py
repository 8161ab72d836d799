"""The effects of `ralph supervise`: an agent to start again and again, marks to look at, others to wait for."""

import os
import stat
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec.structs import replace

from ralph.core.proofs.wording import describe_altered
from ralph.core.supervised.task_prompt import compose_task_prompt
from ralph.core.text.quantities import format_exact_duration
from ralph.core.text.questions import add_notes
from ralph.core.text.secrets import redact
from ralph.core.text.utf8 import BYTE_ORDER_MARK
from ralph.engine.agent_run import AgentRequest, AgentRunner, CallFiles
from ralph.engine.emit import emit
from ralph.engine.proofs.proof_gates import ProofGates
from ralph.model.errors import MachineError, RalphError
from ralph.model.events import Noted, Warned
from ralph.model.loop import (
    Await,
    Awaited,
    Brief,
    Check,
    Checked,
    Decision,
    Fact,
    Interrupted,
    Look,
    Looked,
    Reported,
    RunAgent,
    SnapshotTaken,
    TakeSnapshot,
    Verify,
    Wait,
)
from ralph.model.ports import Inbox, Watcher
from ralph.model.supervised import ATTEMPTS_FOLDER, DONE_FILE, TASK_FILE, WAIT_FILE, AttemptRecord, TaskPaths
from ralph.process.atomic_file import open_without_links, read_regular_file, remove_path

COARSE_CLOCK_SECONDS = 1.0  # how much older than it is a file may look


class Attempts(Protocol):
    """The agent runs of a task, one after the other."""

    started_at: float  # unix time when the last one started; a wish made before is not its own

    def run(self, brief: Brief) -> Fact:
        """The next one, to its end."""
        ...

    def take_snapshot(self, iteration: int) -> SnapshotTaken:
        """Of what the last one left, where it is unseen."""
        ...

    def announce_restart(self) -> None:
        """The loop goes on without DONE: say so."""
        ...


class Neighbours(Protocol):
    """Those a task may have to wait for, and what is said to it on its bus."""

    def read_wait_request(self) -> str:
        """How the last agent asked not to be restarted; empty: it did not."""
        ...

    def list_active_children(self) -> Sequence[str]: ...

    def list_unmet_dependencies(self) -> Sequence[str]: ...


class AttemptLog(Protocol):
    """Where agent runs are on record, for people and for other processes."""

    @property
    def guardian_pid(self) -> int:
        """Who holds the agent that starts now."""
        ...

    def begin(self, attempt: AttemptRecord) -> None:
        """On record and announced before its agent starts."""
        ...

    def save(self, attempt: AttemptRecord) -> None: ...


class SuperviseEffects:
    """Everything a restart loop may touch."""

    def __init__(
        self,
        place: TaskPaths,
        attempts: Attempts,
        neighbours: Neighbours,
        *,
        inbox: Inbox,
        poll_interval: float,
        gates: ProofGates | None = None,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        self._place, self._attempts, self._neighbours = place, attempts, neighbours
        self._inbox, self._poll_interval = inbox, poll_interval
        self._gates, self._watchers = gates, watchers
        self._done_refused = False  # the next restart has been explained
        self._altered = ""  # proofs that the checks did not pass without

    def perform(self, decision: Decision) -> Fact | None:
        match decision:
            case RunAgent(brief):
                return self._attempts.run(brief)
            case TakeSnapshot(iteration):
                return self._attempts.take_snapshot(iteration)
            case Look():
                return self._read_marks()
            case Await("children", seconds):
                return self._await_others(self._neighbours.list_active_children, seconds)
            case Await("dependencies", seconds):
                return self._await_others(self._neighbours.list_unmet_dependencies, seconds)
            case Check(gates, iteration, sealed=True) if self._gates:
                return self._note_altered(self._gates.check_sealed(gates, iteration))
            case Check(gates, iteration) if self._gates:
                return self._check(self._gates.check(gates, iteration), iteration)
            case Verify(text=explanation) if self._gates:
                return self._gates.judge_change(explanation)
            case Wait():
                if self._altered:
                    self.withdraw_done(f"{self._altered}, and the checks fail with the files as they were")
                if not self._done_refused:
                    self._attempts.announce_restart()
                self._done_refused = False
                return None
            case _:
                return None

    def _check(self, checked: Checked | Interrupted, iteration: int) -> Fact:
        """A mark that the checks do not confirm is taken away: whoever looks at the folder must not believe it."""
        if isinstance(checked, Interrupted) or not checked.failures:
            return checked
        red = ", ".join(redact(failure.gate) for failure in checked.failures)
        self.withdraw_done(f"{red} failed", iteration)
        return checked

    def _note_altered(self, checked: Checked | Interrupted) -> Fact:
        """Whether the mark stays is decided by what its agent says about them."""
        is_refused = isinstance(checked, Checked) and (checked.failures or any(p.protected for p in checked.proofs))
        self._altered = describe_altered(checked.proofs) if is_refused and isinstance(checked, Checked) else ""
        return checked

    def withdraw_done(self, why: str, iteration: int = 0) -> None:
        path = self._place.path(DONE_FILE)
        try:
            remove_path(path)
        except OSError as error:
            raise MachineError(f"cannot remove {path}: {error.strerror}", "remove it, then start again") from error
        self._done_refused, self._altered = True, ""
        said = f"DONE does not count and was removed: {why}"
        emit(self._watchers, iteration, Warned(said), Noted(said))

    def _read_marks(self) -> Looked:
        """As they are now. Presence is enough: nobody reads what DONE says."""
        try:
            found = os.stat(self._place.path(DONE_FILE))
        except FileNotFoundError:
            return Looked(
                waits=self._find_wait_wish(),
                needs=tuple(self._neighbours.list_unmet_dependencies()),
                children=tuple(self._neighbours.list_active_children()),
            )
        except OSError as error:
            return Looked(problem=f"stat DONE: {error.strerror}")
        return Looked(problem="DONE is a directory") if stat.S_ISDIR(found.st_mode) else Looked(done=True)

    def _find_wait_wish(self) -> str:
        since = self._attempts.started_at - COARSE_CLOCK_SECONDS
        try:
            marked = os.stat(self._place.path(WAIT_FILE)).st_mtime >= since
        except OSError:
            marked = False
        return f"the file {WAIT_FILE} is there" if marked else self._neighbours.read_wait_request()

    def _await_others(self, list_others: Callable[[], Sequence[str]], seconds: float | None) -> Fact:
        began = time.monotonic()
        while left := list_others():
            if by := self._inbox.poll_interruption():
                return Interrupted(by)
            if seconds is not None and time.monotonic() - began >= seconds:
                break
            self._inbox.wait(self._poll_interval)
        return Awaited(tuple(left))


class AgentAttempts:
    """Starts the agent on TASK.md, as often as asked. Each run is on record before it starts; its folder is a
    projection of the record."""

    def __init__(
        self,
        run: str,
        place: TaskPaths,
        *,
        runner: AgentRunner,
        log: AttemptLog,
        watchers: Sequence[Watcher],
        own_program: str = "ralph",
        can_start_runs: bool = True,
    ) -> None:
        self._run, self._place = run, place
        self._own_program, self._can_start_runs = own_program, can_start_runs
        self._runner, self._log, self._watchers = runner, log, watchers
        self._count = 0
        self._brief = Brief(iteration=0, limit=0)
        self._waits_for_limit = False
        self.started_at = 0.0
        self.last: AttemptRecord | None = None

    def run(self, brief: Brief) -> Fact:
        attempt = self._open_attempt(brief)
        self.started_at = attempt.started_at
        self._log.begin(attempt)
        reported = self._runner.call(lambda: self._build_request(attempt, brief), self._watchers, brief.agent)
        if isinstance(reported, Interrupted):
            self._runner.save_cut_off_work(brief.iteration, self._watchers)  # the next run has to know whose it is
            self._record_end(replace(attempt, ended_at=time.time(), status="stopped", error=reported.by))
            return reported
        self._brief = brief
        self._waits_for_limit = reported.outcome == "limited" and reported.reset_at is not None
        _write_file(attempt, "output.md", reported.text)
        self._explain_end(reported)
        well = reported.outcome in ("finished", "empty") and reported.exit_code == 0
        self._record_end(
            replace(
                attempt,
                ended_at=time.time(),
                exit_code=reported.exit_code,
                status="completed" if well else "failed",
                error="" if well else reported.detail,
            )
        )
        return reported

    def take_snapshot(self, iteration: int) -> SnapshotTaken:
        return self._runner.take_snapshot(iteration, self._watchers)

    def announce_restart(self) -> None:
        number, limit = self._brief.iteration, self._brief.limit
        if self.last is None or self._waits_for_limit:  # that spends no attempt, and the wait is told
            return
        if number >= limit:
            emit(self._watchers, number, Noted(f"Attempt {number}: Max restarts exceeded, stopping"))
            return
        code = self.last.exit_code
        warning, note = (
            ("ended without DONE", "ended (exit 0)")
            if self.last.status == "completed"
            else (f"failed with exit code {code}", f"failed (exit {code})")
        )
        emit(
            self._watchers,
            number,
            Warned(f"Agent {warning}, restarting (attempt {number + 1}/{limit})"),
            Noted(f"Attempt {number}: Agent {note}, restarting..."),
        )

    def _open_attempt(self, brief: Brief) -> AttemptRecord:
        self._count += 1
        name = f"{time.strftime('%Y%m%d-%H%M%S')}0000-{os.getpid()}-{self._count}"
        folder = self._place.path(f"{ATTEMPTS_FOLDER}/{name}")
        os.makedirs(folder, exist_ok=True)
        return AttemptRecord(
            id=name,
            run=self._run,
            number=brief.iteration - 1,
            previous=self.last.id if self.last else None,
            project=self._place.project,
            folder=folder,
            pid=self._log.guardian_pid,
            started_at=time.time(),
        )

    def _build_request(self, attempt: AttemptRecord, brief: Brief) -> AgentRequest:
        return AgentRequest(
            prompt=self._build_prompt(attempt, brief),
            mode="stream",
            files=CallFiles.in_dir(
                attempt.folder,
                stdout="agent-stdout.txt",
                stderr="agent-stderr.txt",
                prompt="prompt.md",
                answer="answer.txt",
            ),
            iteration=brief.iteration,
            budget_usd=brief.budget_usd,
            environment=_build_variables(attempt, self._place),
            pausable=True,
        )

    def _build_prompt(self, attempt: AttemptRecord, brief: Brief) -> str:
        path = self._place.path(TASK_FILE)
        try:
            text = read_regular_file(path, errors="surrogateescape").removeprefix(BYTE_ORDER_MARK)
        except OSError as error:
            raise RalphError(f"cannot read {path}: {error.strerror}", "write the task into it") from error
        prompt = compose_task_prompt(
            text,
            task_folder=self._place.folder,
            run_folder=attempt.folder,
            again=brief.iteration > 1,
            failures=[item.text for item in brief.feedback],
            own_program=self._own_program,
            can_start_runs=self._can_start_runs,
        )
        prompt = add_notes(prompt, brief.notes)
        _write_file(attempt, "prompt.md", prompt)
        return prompt

    def _record_end(self, attempt: AttemptRecord) -> None:
        self.last = attempt
        self._log.save(attempt)

    def _explain_end(self, reported: Reported) -> None:
        if reported.outcome == "timed_out":
            why = f"Agent timeout after {format_exact_duration(self._runner.timeout or 0)}"
        elif reported.outcome == "idle":
            why = f"Agent silent for {format_exact_duration(self._runner.idle_timeout or 0)}"
        else:
            return
        emit(
            self._watchers,
            self._brief.iteration,
            Warned(f"{why}, killing process group"),
            Noted("Process group killed, treating as failure"),
        )


def _write_file(attempt: AttemptRecord, name: str, text: str) -> None:
    try:
        with open_without_links(os.path.join(attempt.folder, name)) as file:
            file.write(text)
    except OSError:
        pass  # a full disk costs the file, never the run


def _build_variables(attempt: AttemptRecord, place: TaskPaths) -> dict[str, str]:
    return {
        "RALPH_ITERATION": str(attempt.number + 1),
        "RALPH_ATTEMPT_ID": attempt.id,
        "RALPH_PROJECT": place.project,
        "RALPH_TASK": place.task,
        "RUN_FOLDER": attempt.folder,
    }
