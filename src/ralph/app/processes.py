"""Processes for a command that is no loop: asked, and gone."""

from collections.abc import Iterator
from contextlib import contextmanager

from ralph.engine.inbox import SignalInbox
from ralph.process.supervisor import Supervisor


@contextmanager
def open_short_lived_processes() -> Iterator[Supervisor]:
    """A guardian for as long as the block lasts; a signal ends what it started."""
    inbox = SignalInbox(lambda: False, int)
    supervisor = Supervisor(inbox)
    try:
        yield supervisor
    finally:
        supervisor.close()
        inbox.close()
