"""SCM tasks after a passing iteration, by argv, never through a shell. Problems are told; the loop goes on."""

import os
from collections.abc import Callable, Mapping

from msgspec import Struct

from ralph.core.commit_message import parse_commit_message
from ralph.model.command import Command
from ralph.model.events import NO_USAGE, Usage
from ralph.model.loop import Saved
from ralph.model.ports import Processes
from ralph.process.output import Excerpt
from ralph.process.shell import find_program

COMMIT_MESSAGE_PROMPT = (
    "Provide a short imperative commit message for the changes. Output only the message, no explanation."
)
SCM_TIMEOUT_SECONDS = 600.0
_RALPH_FOLDER = "/.ralph/"  # settings are the user's to commit, logs are nobody's


class AgentReply(Struct, frozen=True, kw_only=True):
    """What the agent replied to a question outside the loop."""

    text: str
    problem: str = ""
    cost_usd: float | None = None
    usage: Usage = NO_USAGE


class ScmResult(Struct, frozen=True):
    """What an SCM command gave."""

    code: int
    output: str

    @property
    def summary_line(self) -> str:
        """The one to show: git's complaint, which advice may follow, else the last."""
        lines = self.output.strip().splitlines()
        complaint = next((line for line in lines if line.startswith(("fatal: ", "error: "))), "")
        return complaint or (lines[-1] if lines else f"exit code {self.code}")


class ScmRunner:
    """`<command> <task>` for each task; `commit` asks the agent for a message first."""

    def __init__(
        self,
        command: str,
        tasks: tuple[str, ...],
        *,
        processes: Processes,
        folder: str,
        environment: Mapping[str, str],
        records: str,
    ) -> None:
        self._program, *self._words = command.split()
        self._tasks = tasks
        self._processes = processes
        self._folder = folder
        self._environment = {**environment, "GIT_TERMINAL_PROMPT": "0"}  # nobody is there to type a password
        self._is_git = self._program.rpartition("/")[2] in ("git", "git.exe")
        self._untracked_before = (
            self._load_untracked_before(records) if "commit" in tasks and self._is_git else frozenset()
        )

    def save(self, ask: Callable[[str], AgentReply]) -> Saved:
        """All tasks in order; the first that fails ends them."""
        done: list[str] = []
        answer, problem = AgentReply(text=""), ""
        for task in self._tasks:
            if task == "commit":
                if self._is_git and not self._has_changes():
                    continue  # an empty diff is no error, and not worth a question
                answer = ask(COMMIT_MESSAGE_PROMPT)
                problem = answer.problem or self._commit(parse_commit_message(answer.text))
            else:
                problem = self._try_task(task, task.split())
            if problem:
                break
            done.append(task)
        message = parse_commit_message(answer.text) if "commit" in done else ""
        return Saved(
            done=tuple(done),
            message=message,
            problems=(problem,) if problem else (),
            cost_usd=answer.cost_usd,
            usage=answer.usage,
        )

    def _load_untracked_before(self, records: str) -> frozenset[str]:
        """What was untracked when the run began; a later life of it reads that again."""
        path = os.path.join(records, "untracked")
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return frozenset(filter(None, file.read().split("\0")))
        except FileNotFoundError:
            found = self._list_untracked()
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\0".join(sorted(found)))
        return found

    def _commit(self, message: str) -> str:
        if not message:
            return "commit: the agent gave no commit message"
        new = sorted(self._list_untracked() - self._untracked_before) if self._is_git else []
        if new and (problem := self._try_task("add", ["add", "--", *(f":(top,literal){name}" for name in new)])):
            return problem
        return self._try_task("commit", ["commit", "-am", message])

    def _has_changes(self) -> bool:
        tracked = self._run(["status", "--porcelain", "--untracked-files=no"])
        return (
            tracked.code != 0 or bool(tracked.output.strip()) or bool(self._list_untracked() - self._untracked_before)
        )

    def _list_untracked(self) -> frozenset[str]:
        """What was not there before the run is the agent's; what was is the user's own and stays out."""
        # In the whole work tree, as `commit -a` does it, wherever in it we are.
        found = self._run(["ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", ":/"])
        names = found.output.split("\0") if found.code == 0 else []
        return frozenset(name for name in names if name and _RALPH_FOLDER not in f"/{name}")

    def _try_task(self, name: str, words: list[str]) -> str:
        found = self._run(words)
        return f"{self._program} {name} failed with exit code {found.code}: {found.summary_line}" if found.code else ""

    def _run(self, words: list[str]) -> ScmResult:
        program = find_program(self._program, self._environment, self._folder)
        if program is None:
            return ScmResult(127, f"{self._program}: not found")
        output = Excerpt(1 << 20, 1 << 16)
        argv = (program, *self._words, *words)
        command = Command(
            argv=argv, environment=self._environment, cwd=self._folder, merged=True, timeout=SCM_TIMEOUT_SECONDS
        )
        exited = self._processes.run(command, output.write, output.write)
        return ScmResult(exited.code, exited.error or output.text())
