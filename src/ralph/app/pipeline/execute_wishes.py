"""What people want of a `ralph execute` as a whole: a pause, its end, tasks tried again."""

import threading
import time
from collections.abc import Callable, Collection, Sequence

from ralph.model.control import RETRY_WISH, WHOLE_EXECUTE, PauseRecord
from ralph.model.store_ports import ControlStore, TaskStore

WISH_LOOK_SECONDS = 0.4  # how old an answer may be


class Deadline:
    """When no agent may start any more; a pause moves it."""

    def __init__(self, seconds: float | None) -> None:
        self._at = None if seconds is None else time.monotonic() + seconds

    def find_seconds_left(self) -> float | None:
        """None: there is no limit."""
        return None if self._at is None else max(0.0, self._at - time.monotonic())

    def extend(self, seconds: float) -> None:
        if self._at is not None:
            self._at += seconds


class ExecuteWishes:
    """Asked often, and by every thread, which may share the store."""

    def __init__(self, store: ControlStore, is_cancelled: Callable[[], bool] = bool) -> None:
        """`is_cancelled`: by the caller's own means."""
        self._store, self._is_cancelled = store, is_cancelled
        self._lock = threading.Lock()
        self._looked_at = float("-inf")
        self._pause: PauseRecord | None = None
        self._ends: Collection[str] = ()

    def is_cancel_wanted(self) -> bool:
        self._look()
        return "now" in self._ends or self._is_cancelled()

    def is_stop_wanted(self) -> bool:
        """After the agents that are at work."""
        self._look()
        return "agents" in self._ends

    def is_draining(self) -> bool:
        """No task is to be started."""
        self._look()
        return bool(self._ends)

    def find_pause(self) -> PauseRecord | None:
        self._look()
        return self._pause

    def _look(self) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._looked_at >= WISH_LOOK_SECONDS:
                self._looked_at = now
                self._pause = self._store.find_pause(WHOLE_EXECUTE)
                self._ends = self._store.list_execute_wishes()


def list_tried(tasks: TaskStore, claimed: Collection[str]) -> frozenset[str]:
    """Those that this command need not try again: nobody has asked for it."""
    return frozenset(claimed) - tasks.list_wished(RETRY_WISH)


def list_claimable(tasks: TaskStore, wanted: Sequence[str], is_named: bool) -> tuple[str, ...]:
    """What may be claimed: what was asked for, and where no task was named, what a person asked for since."""
    return tuple(wanted) if is_named else (*wanted, *sorted(tasks.list_wished(RETRY_WISH) - {*wanted}))


def find_paused_tasks(
    tasks: TaskStore, control: ControlStore, wanted: Collection[str], tried: Collection[str]
) -> list[PauseRecord]:
    """Those that could be started, were they not paused."""
    pauses = {pause.subject.name: pause for pause in control.list_pauses() if pause.subject.kind == "task"}
    if not pauses.keys() & {*wanted} - {*tried}:
        return []
    cards = {card.id: card for card in tasks.list_cards()}
    return [
        pause
        for name, pause in pauses.items()
        if name in wanted
        and name not in tried
        and cards[name].status == "todo"
        and all(cards[need].status == "done" for need in cards[name].needs if need in cards)
    ]
