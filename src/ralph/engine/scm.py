"""SCM tasks after a passing iteration, by argv, never through a shell. Problems are told; the loop goes on."""

import os
from collections.abc import Callable

from msgspec import Struct

from ralph.core.commit_message import parse_commit_message
from ralph.core.own_files import is_own_file
from ralph.model.events import NO_USAGE, Usage
from ralph.model.loop import Saved
from ralph.model.ports import GitClient
from ralph.model.receipt import SignedCommit, parse_trailer
from ralph.process.atomic_file import write_atomic
from ralph.process.index_lock import IndexLock

COMMIT_MESSAGE_PROMPT = (
    "Provide a short imperative commit message for the changes. Output only the message, no explanation."
)
_LEAVING_TASKS = ("push", "pull", "fetch")  # they go where settings lead
SCM_TIMEOUT_SECONDS = 600.0  # a push may take its time


class AgentReply(Struct, frozen=True, kw_only=True):
    """What the agent replied to a question outside the loop."""

    text: str
    problem: str = ""
    cost_usd: float | None = None
    usage: Usage = NO_USAGE


class ScmRunner:
    """`<command> <task>` for each task; `commit` asks the agent for a message first."""

    def __init__(
        self,
        command: str,
        tasks: tuple[str, ...],
        *,
        git: GitClient,
        run_dir: str,
        find_detour: Callable[[], str] = str,
        index_lock: IndexLock | None = None,
    ) -> None:
        """`git` is the program that `command` begins with, be it git or another. `find_detour`: what has changed since
        the run began that might lead a push elsewhere. `index_lock`: where git's is."""
        self._program = command.split()[0]
        self._tasks = tasks
        self._git = git
        self._find_detour = find_detour
        self._is_git = self._program.rpartition("/")[2] in ("git", "git.exe")
        self._index_lock = index_lock if self._is_git else None
        if self._index_lock:
            self._index_lock.clear()  # of an earlier life of this run
        self._untracked_before = (
            self._load_untracked_before(run_dir) if "commit" in tasks and self._is_git else frozenset()
        )

    @property
    def left_out(self) -> list[str]:
        """Files that git did not know when the run began: they are the user's, and no commit takes them."""
        return sorted(self._untracked_before)

    def save(self, ask: Callable[[str], AgentReply], trailer: str = "") -> Saved:
        """All tasks in order; the first that fails ends them. `trailer` is a last line for git's commit message."""
        done: list[str] = []
        answer, problem = AgentReply(text=""), ""
        for task in self._tasks:
            if task == "commit":
                if self._is_git and not self._has_changes():
                    continue  # an empty diff is no error, and not worth a question
                answer = ask(COMMIT_MESSAGE_PROMPT)
                problem = answer.problem or self._commit(parse_commit_message(answer.text), trailer)
            elif task.split()[:1][0] in _LEAVING_TASKS and (detour := self._find_detour()):
                problem = f"{self._program} {task} was not run: {detour} changed since the run began"
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
            commit=self._find_signed_commit(trailer) if message else None,
        )

    def _load_untracked_before(self, run_dir: str) -> frozenset[str]:
        """What was untracked when the run began; a later life of it reads that again."""
        path = os.path.join(run_dir, "untracked")
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return frozenset(filter(None, file.read().split("\0")))
        except FileNotFoundError:
            found = self._list_untracked()
        write_atomic(path, "\0".join(sorted(found)))
        return found

    def _find_signed_commit(self, trailer: str) -> SignedCommit | None:
        """What carries the trailer now; a hook may have made another message of it."""
        found = self._git.run("log", "-1", "--format=%H%n%B") if self._is_git and trailer else None
        commit, _, message = found.output.partition("\n") if found and found.ok else ("", "", "")
        named = parse_trailer(message)
        return SignedCommit(commit, named[1]) if named and trailer in message.splitlines() else None

    def _commit(self, message: str, trailer: str) -> str:
        if not message:
            return "commit: the agent gave no commit message"
        if self._index_lock:
            self._index_lock.announce_commit()
        problem = self._add_and_commit(message, trailer)
        if self._index_lock and problem:
            self._index_lock.clear()  # whatever was started is gone by now, killed or not
        elif self._index_lock:
            self._index_lock.forget_commit()
        return problem

    def _add_and_commit(self, message: str, trailer: str) -> str:
        new = sorted(self._list_untracked() - self._untracked_before) if self._is_git else []
        if new and (problem := self._try_task("add", ["add", "--", *(f":(top,literal){name}" for name in new)])):
            return problem
        signed = f"{message}\n\n{trailer}" if self._is_git and trailer else message
        return self._try_task("commit", ["commit", "-am", signed])

    def _has_changes(self) -> bool:
        tracked = self._git.run("status", "--porcelain", "--untracked-files=no")
        return not tracked.ok or bool(tracked.text) or bool(self._list_untracked() - self._untracked_before)

    def _list_untracked(self) -> frozenset[str]:
        """What was not there before the run is the agent's; what was is the user's own and stays out."""
        # In the whole work tree, as `commit -a` does it, wherever in it we are.
        found = self._git.run("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", ":/")
        names = found.output.split("\0") if found.ok else []
        return frozenset(name for name in names if name and not is_own_file(name))

    def _try_task(self, name: str, words: list[str]) -> str:
        found = self._git.run(*words)
        return "" if found.ok else f"{self._program} {name} failed with exit code {found.code}: {found.summary_line}"
