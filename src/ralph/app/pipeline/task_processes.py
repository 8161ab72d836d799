"""The processes of one task: a guardian of its own, others while several verifications run at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.model.command import Command, CommandExit
from ralph.model.ports import Processes
from ralph.process.supervisor import Supervisor


class TaskProcesses:
    """Runs one command at a time with a guardian of its own; `borrow` gives another for commands that run in parallel.
    `sibling_guardians`: those of all tasks."""

    def __init__(
        self, inbox: TaskInbox, sibling_guardians: set[int], is_pause_wanted: Callable[[], bool] = bool
    ) -> None:
        self._inbox, self._sibling_guardians = inbox, sibling_guardians
        self._supervisor = Supervisor(inbox, sibling_guardians=sibling_guardians, is_pause_wanted=is_pause_wanted)
        self._in_use = threading.Lock()

    @property
    def guardian_pid(self) -> int:
        return self._supervisor.guardian_pid

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> CommandExit:
        return self._supervisor.run(command, on_output, on_error)

    @contextmanager
    def borrow(self) -> Iterator[Processes]:
        """The task's own guardian while nobody has it, else a new one for the length of the block."""
        if self._in_use.acquire(blocking=False):
            try:
                yield self._supervisor
            finally:
                self._in_use.release()
            return
        another = Supervisor(self._inbox, sibling_guardians=self._sibling_guardians)
        try:
            yield another
        finally:
            another.close()

    def make_uninterruptible(self) -> "Uninterruptible":
        return Uninterruptible(self, self._inbox)

    def close(self) -> None:
        self._supervisor.close()


class Uninterruptible:
    """The same processes for commands that are short and must run to their end, such as git."""

    def __init__(self, processes: TaskProcesses, inbox: TaskInbox) -> None:
        self._processes, self._inbox = processes, inbox

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> CommandExit:
        with self._inbox.uninterruptible():
            return self._processes.run(command, on_output, on_error)
