"""The marks on a supervised task: DONE, the wish not to be restarted, and the tasks it depends on."""

import os
import stat
from collections.abc import Callable

from ralph.model.loop import Looked
from ralph.model.supervised import DONE, WAIT_WITHOUT_RESTART, TaskPlace


class Marks:
    """Looks at the folder. A wish counts when it was made since the last agent started."""

    def __init__(self, place: TaskPlace, bus_wish: Callable[[], str], unmet: Callable[[], tuple[str, ...]]) -> None:
        self._place = place
        self._bus_wish = bus_wish
        self._unmet = unmet
        self.since = 0.0  # unix time when the last agent started

    def look(self) -> Looked:
        """As they are now. Presence is enough: nobody reads what DONE says."""
        try:
            found = os.stat(self._place.path(DONE))
        except FileNotFoundError:
            return Looked(waits=self._wish(), needs=self._unmet())
        except OSError as error:
            return Looked(problem=f"stat DONE: {error.strerror}")
        return Looked(problem="DONE is a directory") if stat.S_ISDIR(found.st_mode) else Looked(done=True)

    def _wish(self) -> str:
        try:
            marked = os.stat(self._place.path(WAIT_WITHOUT_RESTART)).st_mtime >= self.since - 1  # coarse clocks
        except OSError:
            marked = False
        return f"the file {WAIT_WITHOUT_RESTART} is there" if marked else self._bus_wish()
