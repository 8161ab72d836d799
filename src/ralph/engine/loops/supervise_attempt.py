"""One agent run of a supervised task: recorded before it starts, its folder a projection of the record."""

import os
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ralph.core.text.quantities import exact_duration
from ralph.engine.agent_run import Call, Caller, Papers
from ralph.engine.atomic_file import read_whole
from ralph.engine.emit import tell
from ralph.model.errors import RalphError
from ralph.model.events import Noted, Warned
from ralph.model.loop import Brief, Fact, Interrupted, Reported
from ralph.model.ports import Inbox, Mode, Watcher
from ralph.model.supervised import TASK_TEXT, Attempt, TaskPlace

CONTINUE = "Continue working on the following:\n\n"


class TaskAttempt:
    """Starts the agent on TASK.md, as often as it is called."""

    def __init__(
        self,
        run: str,
        place: TaskPlace,
        caller: Caller,
        mode: Mode,
        inbox: Inbox,
        watchers: Sequence[Watcher],
        record: Callable[[Attempt], object],
        begun: Callable[[Attempt], object],
        guardian: Callable[[], int],
        limits: tuple[float | None, float | None],
    ) -> None:
        self._run, self._place, self._caller, self._mode = run, place, caller, mode
        self._inbox, self._watchers, self._record, self._begun = inbox, watchers, record, begun
        self._guardian = guardian
        self._timeout, self._idle_timeout = limits
        self._count = 0
        self._brief = Brief(0, 0)
        self.last: Attempt | None = None

    def __call__(self, brief: Brief) -> Fact:
        """Run it once."""
        attempt = self._opened(brief)
        self._record(attempt)
        self._begun(attempt)
        try:
            prompt = self._prompt(attempt, brief)
            call = Call(
                prompt,
                self._mode,
                _papers(attempt.folder),
                brief.iteration,
                brief.budget_usd,
                _variables(attempt, self._place),
            )
            reported = self._caller.call(call, self._watchers)
        except RalphError as error:
            reported = Reported("unusable", detail=f"{error.message}. {error.hint}".strip())
        if reported is None:
            by = self._inbox.interruption()
            self._close(replace(attempt, ended_at=time.time(), status="stopped", error=by))
            return Interrupted(by)
        well = reported.outcome in ("finished", "empty") and reported.exit_code == 0
        self._write(attempt, "output.md", reported.text)
        self._explain_end(brief, reported)
        self._close(
            replace(
                attempt,
                ended_at=time.time(),
                exit_code=reported.exit_code,
                status="completed" if well else "failed",
                error="" if well else reported.detail,
            )
        )
        return reported

    def restarting(self) -> None:
        """The loop goes on without DONE: say so."""
        number, limit = self._brief.iteration, self._brief.limit
        if self.last is None:
            return
        if number >= limit:
            tell(self._watchers, number, Noted(f"Attempt {number}: Max restarts exceeded, stopping"))
            return
        code = self.last.exit_code
        told, how = (
            ("ended without DONE", "ended (exit 0)")
            if self.last.status == "completed"
            else (f"failed with exit code {code}", f"failed (exit {code})")
        )
        tell(
            self._watchers,
            number,
            Warned(f"Agent {told}, restarting (attempt {number + 1}/{limit})"),
            Noted(f"Attempt {number}: Agent {how}, restarting..."),
        )

    def _opened(self, brief: Brief) -> Attempt:
        self._count += 1
        name = f"{time.strftime('%Y%m%d-%H%M%S')}0000-{os.getpid()}-{self._count}"
        folder = self._place.path(f"runs/{name}")
        os.makedirs(folder, exist_ok=True)
        previous = self.last.id if self.last else None
        project, number = self._place.project, brief.iteration - 1
        return Attempt(name, self._run, number, previous, project, folder, self._guardian(), time.time())

    def _prompt(self, attempt: Attempt, brief: Brief) -> str:
        path = self._place.path(TASK_TEXT)
        try:
            text = read_whole(path, errors="surrogateescape")
        except OSError as error:
            raise RalphError(f"cannot read {path}: {error.strerror}", "write the task into it") from error
        again = CONTINUE if brief.iteration > 1 else ""
        prompt = f"TASK_FOLDER={self._place.folder}\nRUN_FOLDER={attempt.folder}\n\n{again}{text}"
        self._write(attempt, "prompt.md", prompt)
        return prompt

    def _close(self, attempt: Attempt) -> None:
        self.last = attempt
        self._record(attempt)

    def _explain_end(self, brief: Brief, reported: Reported) -> None:
        self._brief = brief
        if reported.outcome == "timed_out":
            told = f"Agent timeout after {exact_duration(self._timeout or 0)}, killing process group"
        elif reported.outcome == "idle":
            told = f"Agent silent for {exact_duration(self._idle_timeout or 0)}, killing process group"
        else:
            return
        tell(self._watchers, brief.iteration, Warned(told), Noted("Process group killed, treating as failure"))

    @staticmethod
    def _write(attempt: Attempt, name: str, text: str) -> None:
        try:
            with open(os.path.join(attempt.folder, name), "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except OSError:
            pass  # a full disk costs the file, never the run


def _papers(folder: str) -> Papers:
    return Papers(
        stdout=os.path.join(folder, "agent-stdout.txt"),
        stderr=os.path.join(folder, "agent-stderr.txt"),
        prompt=os.path.join(folder, "prompt.md"),
        answer=os.path.join(folder, "answer.txt"),
    )


def _variables(attempt: Attempt, place: TaskPlace) -> dict[str, str]:
    return {
        "RALPH_ITERATION": str(attempt.number + 1),
        "RALPH_ATTEMPT_ID": attempt.id,
        "RALPH_PROJECT": place.project,
        "RALPH_TASK": place.task,
        "RUN_FOLDER": attempt.folder,
    }
