"""What people want of one run, as it stands in the database; asked before each step, and while an agent works."""

import time
from collections.abc import Sequence

from ralph.model.control import Subject, Wishes
from ralph.model.ports import Inbox
from ralph.model.store_ports import ControlStore

PAUSE_POLL_SECONDS = 0.5


class WishReader:
    """Of one run. `subjects`: what a pause of it may be about; the first is what notes are for."""

    def __init__(self, store: ControlStore, subjects: Sequence[Subject]) -> None:
        self._store, self._subjects = store, subjects

    def read(self) -> Wishes:
        pauses = [pause for subject in self._subjects if (pause := self._store.find_pause(subject))]
        notes = tuple(self._store.list_unheard(self._subjects[0]))
        return Wishes(paused_by=pauses[0].by if pauses else "", notes=notes)

    def wait_for_resume(self, inbox: Inbox) -> float:
        """Until nobody wants the pause any more, or the loop is to end; how many seconds that took."""
        began = time.monotonic()
        while self._is_paused() and not inbox.poll_interruption():
            inbox.wait(PAUSE_POLL_SECONDS)
        return time.monotonic() - began

    def _is_paused(self) -> bool:
        return any(self._store.find_pause(subject) for subject in self._subjects)


class AgentStopWatch:
    """Whether an agent at work is to be stopped for a pause; asked often, it looks twice a second."""

    def __init__(self, store: ControlStore, subjects: Sequence[Subject]) -> None:
        self._store, self._subjects = store, subjects
        self._asked_at = 0.0
        self._is_wanted = False

    def is_stop_wanted(self) -> bool:
        now = time.monotonic()
        if now - self._asked_at >= PAUSE_POLL_SECONDS:
            self._asked_at = now
            pauses = [self._store.find_pause(subject) for subject in self._subjects]
            self._is_wanted = any(pause is not None and pause.now for pause in pauses)
        return self._is_wanted
