"""Processes for a command that is no loop: asked, and gone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph.engine.inbox import SignalInbox
from ralph.model.command import Command, CommandExit
from ralph.model.ports import Processes
from ralph.process.supervisor import Supervisor


@contextmanager
def open_short_lived_processes() -> Iterator[Supervisor]:
    """A guardian for as long as the block lasts; a second signal ends what it started."""
    inbox = SignalInbox(lambda: False, int)
    supervisor = Supervisor(inbox)
    try:
        yield supervisor
    finally:
        supervisor.close()
        inbox.close()


class InterruptibleProcesses:
    """For a dialogue: the first signal ends what runs, and then is what it would have been, a KeyboardInterrupt."""

    def __init__(self, processes: Processes, was_interrupted: Callable[[], bool]) -> None:
        self._processes, self._was_interrupted = processes, was_interrupted

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> CommandExit:
        exited = self._processes.run(command, on_output, on_error)
        if self._was_interrupted():
            raise KeyboardInterrupt
        return exited


@contextmanager
def open_interruptible_processes() -> Iterator[InterruptibleProcesses]:
    signals: list[bool] = []
    inbox = SignalInbox(lambda: bool(signals), lambda: signals.append(True))
    supervisor = Supervisor(inbox)
    try:
        yield InterruptibleProcesses(supervisor, lambda: bool(signals))
    finally:
        supervisor.close()
        inbox.close()
