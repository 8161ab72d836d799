"""Use cases of the message bus: which file is meant, post, read, follow."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ralph.core.supervised.task_ids import find_project_id_problem, find_task_id_problem
from ralph.model.errors import UsageError
from ralph.model.message import TASK_BUS_FILE, Message
from ralph.stores.bus import FileMessageBus


class MessageOrigin(Struct, frozen=True):
    """Who posts."""

    project_id: str = ""
    task_id: str = ""
    run_id: str = ""


def resolve_bus_path(bus: Path | None, task: Path | None, environment: Mapping[str, str]) -> Path:
    """The file itself, or the bus of a task's folder, or of the task this process works for."""
    if bus and task:
        raise UsageError("--bus and --task both name a bus", "give one of them")
    if bus:
        return bus
    folder = task or _read_task_folder(environment)
    if not folder:
        raise UsageError("which message bus?", "give --bus FILE or --task DIR, or set TASK_FOLDER")
    if not folder.is_dir():
        raise UsageError(f"no task folder {str(folder)!r}", "give an existing one with --task DIR")
    return folder / TASK_BUS_FILE


def detect_origin(path: Path, environment: Mapping[str, str]) -> MessageOrigin:
    """What the place of a task's bus, `<root>/<project>/<task>/`, and the environment tell of who posts."""
    task, project = path.absolute().parent.name, path.absolute().parent.parent.name
    in_a_task = path.name == TASK_BUS_FILE and not find_task_id_problem(task) and not find_project_id_problem(project)
    run = environment.get("RALPH_ATTEMPT_ID") or environment.get("RALPH_RUN_ID", "")
    if "RALPH_TASK" in environment:
        return MessageOrigin(environment.get("RALPH_PROJECT", ""), environment["RALPH_TASK"], run)
    return MessageOrigin(project, task, run) if in_a_task else MessageOrigin(run_id=run)


def post_message(path: Path, kind: str, body: str, by: MessageOrigin) -> str:
    return FileMessageBus(path).post(kind, body, project_id=by.project_id, task_id=by.task_id, run_id=by.run_id)


def read_messages(path: Path, since: str | None, last: int | None) -> Sequence[Message]:
    """The messages after `since`, of those the `last` so many."""
    return FileMessageBus(path).read(since, last)


def follow_messages(path: Path, since: str | None, last: int | None, stop: Callable[[], bool]) -> Iterator[Message]:
    """What `read` gives, then every new message."""
    bus = FileMessageBus(path)
    shown = bus.read(since, last)
    yield from shown
    yield from bus.follow(stop, since=shown[-1].msg_id if shown else since)


def _read_task_folder(environment: Mapping[str, str]) -> Path | None:
    folder = environment.get("TASK_FOLDER")
    return Path(folder) if folder else None
