"""The public Python API of the restart loop: conductor-loop's RalphLoop, under the name RootAgentLoop."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from ralph.core.policies.done_file import MAX_RESTARTS_REASON, DoneFilePolicy, DoneFileState
from ralph.core.step import Rules
from ralph.engine import kernel
from ralph.engine.clock import Clock
from ralph.engine.loops.supervise import SuperviseEffects
from ralph.model.errors import RalphError
from ralph.model.loop import (
    Began,
    Brief,
    Decision,
    Fact,
    Interrupted,
    Limits,
    LoopState,
    Observation,
    Outcome,
    Reported,
    SnapshotTaken,
    Stop,
)
from ralph.model.supervised import TaskPaths


class Canceled(RalphError):
    """The context was cancelled, or its deadline passed."""

    code = "canceled"
    exit_code = 130


class MaxRestartsExceeded(RalphError):
    """The agent was restarted as often as allowed, and DONE is not there."""

    code = "max_restarts"
    exit_code = 1


class FatalError(RalphError):
    """Raise this (or PermissionError, FileNotFoundError, RalphError) in a runner to end the loop: no restart helps."""

    code = "fatal"


class Context:
    """Cancels a loop from another thread, or by a deadline."""

    def __init__(self, timeout: float | None = None) -> None:
        self._cancelled = threading.Event()
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def cancel(self) -> None:
        """End the loop before its next step."""
        self._cancelled.set()

    def error(self) -> str:
        """Why it is over: "context canceled", "context deadline exceeded", or empty."""
        if self._cancelled.is_set():
            return "context canceled"
        over = self._deadline is not None and time.monotonic() >= self._deadline
        return "context deadline exceeded" if over else ""

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than the context lasts."""
        left = seconds if self._deadline is None else min(seconds, self._deadline - time.monotonic())
        self._cancelled.wait(max(0.0, left))


class MessageSink(Protocol):
    """Where the loop tells what it does; `ralph.stores.bus.FileMessageBus` is one."""

    def post(self, kind: str, body: str, *, project_id: str = "", task_id: str = "") -> object: ...


RootRunner = Callable[[Context, int], None]


class RootAgentLoop:
    """Runs `root_runner(ctx, attempt)` again and again, attempt from 0, until `run_dir/DONE` is there.

    A runner that returns ended well (exit code 0); one that raises failed and is restarted, unless the error is
    fatal. `run` returns when DONE is there, and raises MaxRestartsExceeded, Canceled or the fatal error otherwise.
    """

    def __init__(
        self,
        run_dir: str | os.PathLike[str],
        bus: MessageSink,
        *,
        root_runner: RootRunner,
        max_restarts: int = 100,
        wait_timeout: float = 300.0,
        poll_interval: float = 1.0,
        restart_delay: float = 1.0,
        project_task: tuple[str, str] = ("", ""),
        active_children: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        for name, value in (
            ("max_restarts", max_restarts),
            ("wait_timeout", wait_timeout),
            ("poll_interval", poll_interval),
            ("restart_delay", restart_delay),
        ):
            if value < 0:
                raise ValueError(f"{name} must not be negative, got {value!r}")
        if poll_interval == 0:
            raise ValueError("poll_interval must be more than 0")
        self._place = TaskPaths(os.fspath(run_dir), *project_task)
        self._bus = bus
        self._root_runner = root_runner
        self._limits = Limits(max_restarts)
        self._policy = DoneFilePolicy(restart_delay=restart_delay, wait_timeout=wait_timeout)
        self._poll_interval = poll_interval
        self._active_children = active_children

    def run(self, ctx: Context | None = None) -> None:
        inbox = _ContextInbox(ctx or Context())
        attempts = _RunnerAttempts(inbox.context, self._root_runner, self._post)
        effects = SuperviseEffects(
            self._place,
            attempts,
            _Children(self._active_children),
            inbox=inbox,
            poll_interval=self._poll_interval,
        )
        stop = kernel.run_loop(
            Rules(self._policy, None),
            None,
            fact=Began(self._limits),
            look=Clock(inbox).observe,
            perform=effects.perform,
            wait=inbox.wait,
            journal=_keep_no_journal,
        )
        self._conclude(stop, attempts.failure)

    def _conclude(self, stop: Stop, failure: BaseException | None) -> None:
        match stop.outcome:
            case Outcome.COMPLETED:
                if "still active" in stop.why:
                    self._post("WARNING", stop.why)
                else:
                    self._post("INFO", "task completed (DONE marker present, no active children)")
            case Outcome.EXHAUSTED:
                self._post("ERROR", MAX_RESTARTS_REASON)
                raise MaxRestartsExceeded(MAX_RESTARTS_REASON)
            case Outcome.INTERRUPTED:
                raise Canceled(stop.why)
            case Outcome.UNUSABLE if failure:
                raise failure
            case Outcome.BLOCKED:
                self._post("INFO", stop.why)
            case _:
                raise FatalError(stop.why)

    def _post(self, kind: str, body: str) -> None:
        self._bus.post(kind, body, project_id=self._place.project, task_id=self._place.task)


class _RunnerAttempts:
    """The caller's own function, as the engine starts agents."""

    started_at = 0.0  # whatever lies there counts: only a runner of ours has a folder and a time of its own

    def __init__(self, context: Context, root_runner: RootRunner, post: Callable[[str, str], None]) -> None:
        self._context, self._root_runner, self._post = context, root_runner, post
        self.failure: BaseException | None = None

    def run(self, brief: Brief) -> Fact:
        number = brief.iteration - 1
        self._post("INFO", f"starting root agent (restart #{number})")
        self.failure = None
        try:
            self._root_runner(self._context, number)
        except (FatalError, RalphError, PermissionError, FileNotFoundError) as error:
            self.failure = error
            return Reported(outcome="unusable", detail=str(error))
        except Exception as error:  # noqa: BLE001  # whatever a runner raises is a failed run
            self.failure = error
            self._post("WARNING", f"agent failed on restart #{number}: {error}")
            by = self._context.error()
            return Interrupted(by) if by else Reported(outcome="crashed", detail=str(error), exit_code=1)
        return Reported(outcome="finished")

    def take_snapshot(self, iteration: int) -> SnapshotTaken:
        return SnapshotTaken()

    def announce_restart(self) -> None: ...


class _Children:
    """The runs a caller waits for; it knows no dependencies and reads no wishes on its bus."""

    def __init__(self, active_children: Callable[[], Sequence[str]]) -> None:
        self.list_active_children = active_children

    def read_wait_request(self) -> str:
        return ""

    def list_unmet_dependencies(self) -> tuple[str, ...]:
        return ()


class _ContextInbox:
    """A context, as the engine asks for interruptions."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def fileno(self) -> None: ...

    def poll_interruption(self) -> str:
        return self.context.error()

    def poll_stop_grace(self) -> float | None:
        return None

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than the context lasts."""
        self.context.wait(seconds)


def _keep_no_journal(seen: Observation, state: LoopState[DoneFileState], decision: Decision) -> Decision:
    """An API run keeps no journal: its caller is alive or it is not."""
    return decision
