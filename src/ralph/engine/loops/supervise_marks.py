"""The marks on a supervised task: DONE, the wish not to be restarted, and the tasks it depends on."""

import os
import stat
from collections.abc import Callable

from ralph.model.loop import Looked
from ralph.model.supervised import DONE_FILE, WAIT_FILE, TaskPaths


class TaskMarks:
    """Looks at the folder. A wish counts when it was made since the last agent started."""

    def __init__(self, place: TaskPaths, bus_wish: Callable[[], str], unmet: Callable[[], tuple[str, ...]]) -> None:
        self._place = place
        self._read_bus_wish = bus_wish
        self._list_unmet = unmet
        self.agent_started_at = 0.0  # unix time when the last agent started

    def read_marks(self) -> Looked:
        """As they are now. Presence is enough: nobody reads what DONE says."""
        try:
            found = os.stat(self._place.path(DONE_FILE))
        except FileNotFoundError:
            return Looked(waits=self._find_wait_wish(), needs=self._list_unmet())
        except OSError as error:
            return Looked(problem=f"stat DONE: {error.strerror}")
        return Looked(problem="DONE is a directory") if stat.S_ISDIR(found.st_mode) else Looked(done=True)

    def _find_wait_wish(self) -> str:
        try:
            marked = os.stat(self._place.path(WAIT_FILE)).st_mtime >= self.agent_started_at - 1  # coarse clocks
        except OSError:
            marked = False
        return f"the file {WAIT_FILE} is there" if marked else self._read_bus_wish()
