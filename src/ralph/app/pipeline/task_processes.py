"""The processes of one task: a guardian of its own, others while several verifications run at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.model.command import Command, Exited
from ralph.model.ports import Processes
from ralph.process.supervisor import Supervisor


class Hands:
    """Runs one command at a time; who needs more than that borrows. `kin`: the guardians of all tasks."""

    def __init__(self, inbox: TaskInbox, kin: set[int]) -> None:
        self._inbox, self._kin = inbox, kin
        self._own = Supervisor(inbox, kin=kin)
        self._used = threading.Lock()

    @property
    def guardian_pid(self) -> int:
        """For the run record."""
        return self._own.guardian_pid

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> Exited:
        """By its own guardian."""
        return self._own.run(command, on_output, on_error)

    @contextmanager
    def lent(self) -> Iterator[Processes]:
        """Its own guardian if nobody has it, else one for as long as the block lasts."""
        if self._used.acquire(blocking=False):
            try:
                yield self._own
            finally:
                self._used.release()
            return
        another = Supervisor(self._inbox, kin=self._kin)
        try:
            yield another
        finally:
            another.close()

    def close(self) -> None:
        """End the guardian."""
        self._own.close()


class Untorn:
    """The same hands for what is short and must not be cut in half, as git is."""

    def __init__(self, hands: Hands, inbox: TaskInbox) -> None:
        self._hands, self._inbox = hands, inbox

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> Exited:
        """To its end."""
        with self._inbox.patient():
            return self._hands.run(command, on_output, on_error)
