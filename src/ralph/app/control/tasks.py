"""Use case: try a task again. To add or edit one, or to change its priority: `app.board.tasks`."""

from uuid import uuid4

from ralph.app.board.tasks import open_stores_with_task
from ralph.app.control.targets import Target, build_task_target
from ralph.app.paths import Paths
from ralph.core.tasks.task_rules import format_status, suggest_command
from ralph.model.board import Reopened
from ralph.model.control import RETRY_WISH
from ralph.model.errors import UsageError
from ralph.process.lock import find_lock_holder


def retry_task(places: Paths, id_: str) -> Target:
    """What failed, is blocked or was cancelled is reopened, from where it stopped. A `ralph execute` that is running
    takes it up, also where it has tried it before; see `is_execute_running`."""
    with open_stores_with_task(places, id_) as stores:
        task = stores.tasks.get(id_).task
        if task.status in ("done", "in_progress"):
            raise UsageError(f"task {id_!r} is {format_status(task.status)}", suggest_command(task))
        if task.status in ("blocked", "cancelled"):
            stores.tasks.apply([Reopened(id_)], f"retry:{uuid4()}")
        stores.tasks.add_wish(id_, RETRY_WISH)
        return build_task_target(stores, stores.tasks.get(id_))


def is_execute_running(places: Paths) -> bool:
    """Whether a `ralph execute` works on the tasks of this repository."""
    return find_lock_holder(places.execute_lock) is not None
