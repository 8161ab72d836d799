"""The processes of one task: a guardian of its own, others while several verifications run at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.model.command import Command, CommandExit
from ralph.model.ports import Processes
from ralph.process.supervisor import Supervisor


class TaskProcesses:
    """Runs one command at a time; who needs more than that borrows. `kin`: the guardians of all tasks."""

    def __init__(self, inbox: TaskInbox, kin: set[int]) -> None:
        self._inbox, self._sibling_guardians = inbox, kin
        self._supervisor = Supervisor(inbox, kin=kin)
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
        """Its own guardian if nobody has it, else one for as long as the block lasts."""
        if self._in_use.acquire(blocking=False):
            try:
                yield self._supervisor
            finally:
                self._in_use.release()
            return
        another = Supervisor(self._inbox, kin=self._sibling_guardians)
        try:
            yield another
        finally:
            another.close()

    def close(self) -> None:
        self._supervisor.close()


class Uninterruptible:
    """The same hands for what is short and must not be cut in half, as git is."""

    def __init__(self, hands: TaskProcesses, inbox: TaskInbox) -> None:
        self._processes, self._inbox = hands, inbox

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> CommandExit:
        with self._inbox.uninterruptible():
            return self._processes.run(command, on_output, on_error)
