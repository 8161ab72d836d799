"""One agent run of a supervised task: recorded before it starts, its folder a projection of the record."""

import os
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ralph.core.text.quantities import format_exact_duration
from ralph.engine.agent_run import AgentRequest, AgentRunner, CallFiles
from ralph.engine.emit import emit
from ralph.model.errors import RalphError
from ralph.model.events import Noted, Warned
from ralph.model.loop import Brief, Fact, Interrupted, Reported
from ralph.model.ports import Inbox, OutputMode, Watcher
from ralph.model.supervised import TASK_FILE, AttemptRecord, TaskPaths
from ralph.process.atomic_file import read_regular_file

CONTINUE_PROMPT_PREFIX = "Continue working on the following:\n\n"


class AttemptRunner:
    """Starts the agent on TASK.md, as often as it is called."""

    def __init__(
        self,
        run: str,
        place: TaskPaths,
        *,
        caller: AgentRunner,
        mode: OutputMode,
        inbox: Inbox,
        watchers: Sequence[Watcher],
        record: Callable[[AttemptRecord], object],
        begun: Callable[[AttemptRecord], object],
        guardian: Callable[[], int],
        limits: tuple[float | None, float | None],
    ) -> None:
        self._run, self._place, self._runner, self._mode = run, place, caller, mode
        self._inbox, self._watchers, self._record, self._on_begin = inbox, watchers, record, begun
        self._read_guardian_pid = guardian
        self._timeout, self._idle_timeout = limits
        self._count = 0
        self._brief = Brief(iteration=0, limit=0)
        self.last: AttemptRecord | None = None

    def __call__(self, brief: Brief) -> Fact:
        attempt = self._open_attempt(brief)
        self._record(attempt)
        self._on_begin(attempt)
        try:
            prompt = self._build_prompt(attempt, brief)
            call = AgentRequest(
                prompt=prompt,
                mode=self._mode,
                files=_name_attempt_files(attempt.folder),
                iteration=brief.iteration,
                budget_usd=brief.budget_usd,
                environment=_build_variables(attempt, self._place),
            )
            reported = self._runner.run(call, self._watchers)
        except RalphError as error:
            reported = Reported(outcome="unusable", detail=f"{error.message}. {error.hint}".strip())
        if reported is None:
            by = self._inbox.poll_interruption()
            self._record_end(replace(attempt, ended_at=time.time(), status="stopped", error=by))
            return Interrupted(by)
        well = reported.outcome in ("finished", "empty") and reported.exit_code == 0
        self._write_file(attempt, "output.md", reported.text)
        self._explain_end(brief, reported)
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

    def announce_restart(self) -> None:
        """The loop goes on without DONE: say so."""
        number, limit = self._brief.iteration, self._brief.limit
        if self.last is None:
            return
        if number >= limit:
            emit(self._watchers, number, Noted(f"Attempt {number}: Max restarts exceeded, stopping"))
            return
        code = self.last.exit_code
        told, how = (
            ("ended without DONE", "ended (exit 0)")
            if self.last.status == "completed"
            else (f"failed with exit code {code}", f"failed (exit {code})")
        )
        emit(
            self._watchers,
            number,
            Warned(f"Agent {told}, restarting (attempt {number + 1}/{limit})"),
            Noted(f"Attempt {number}: Agent {how}, restarting..."),
        )

    def _open_attempt(self, brief: Brief) -> AttemptRecord:
        self._count += 1
        name = f"{time.strftime('%Y%m%d-%H%M%S')}0000-{os.getpid()}-{self._count}"
        folder = self._place.path(f"runs/{name}")
        os.makedirs(folder, exist_ok=True)
        previous = self.last.id if self.last else None
        project, number = self._place.project, brief.iteration - 1
        return AttemptRecord(
            id=name,
            run=self._run,
            number=number,
            previous=previous,
            project=project,
            folder=folder,
            pid=self._read_guardian_pid(),
            started_at=time.time(),
        )

    def _build_prompt(self, attempt: AttemptRecord, brief: Brief) -> str:
        path = self._place.path(TASK_FILE)
        try:
            text = read_regular_file(path, errors="surrogateescape")
        except OSError as error:
            raise RalphError(f"cannot read {path}: {error.strerror}", "write the task into it") from error
        again = CONTINUE_PROMPT_PREFIX if brief.iteration > 1 else ""
        prompt = f"TASK_FOLDER={self._place.folder}\nRUN_FOLDER={attempt.folder}\n\n{again}{text}"
        self._write_file(attempt, "prompt.md", prompt)
        return prompt

    def _record_end(self, attempt: AttemptRecord) -> None:
        self.last = attempt
        self._record(attempt)

    def _explain_end(self, brief: Brief, reported: Reported) -> None:
        self._brief = brief
        if reported.outcome == "timed_out":
            told = f"Agent timeout after {format_exact_duration(self._timeout or 0)}, killing process group"
        elif reported.outcome == "idle":
            told = f"Agent silent for {format_exact_duration(self._idle_timeout or 0)}, killing process group"
        else:
            return
        emit(self._watchers, brief.iteration, Warned(told), Noted("Process group killed, treating as failure"))

    @staticmethod
    def _write_file(attempt: AttemptRecord, name: str, text: str) -> None:
        try:
            with open(os.path.join(attempt.folder, name), "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except OSError:
            pass  # a full disk costs the file, never the run


def _name_attempt_files(folder: str) -> CallFiles:
    return CallFiles(
        stdout=os.path.join(folder, "agent-stdout.txt"),
        stderr=os.path.join(folder, "agent-stderr.txt"),
        prompt=os.path.join(folder, "prompt.md"),
        answer=os.path.join(folder, "answer.txt"),
    )


def _build_variables(attempt: AttemptRecord, place: TaskPaths) -> dict[str, str]:
    return {
        "RALPH_ITERATION": str(attempt.number + 1),
        "RALPH_ATTEMPT_ID": attempt.id,
        "RALPH_PROJECT": place.project,
        "RALPH_TASK": place.task,
        "RUN_FOLDER": attempt.folder,
    }
