"""The agent's own to-do list, told whole each time it changes."""

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from ralph.agents._ndjson import UNDECODABLE
from ralph.model.events import Planned, Todo, TodoState

_STATES: dict[str, TodoState] = {
    "in_progress": "active",
    "in-progress": "active",
    "active": "active",
    "completed": "done",
    "done": "done",
    "cancelled": "done",
}
WHOLE = frozenset({"TodoWrite", "todowrite", "todo_write", "write_todos"})
TOOLS = WHOLE | {"TaskCreate", "TaskUpdate"}
MOST = 500  # tasks; what comes after them is not told


class _Item(Struct, frozen=True, gc=False):
    content: str | None = None
    subject: str | None = None
    description: str | None = None
    status: str | None = None
    task: str | None = field(default=None, name="taskId")


class _List(Struct, frozen=True, gc=False):
    todos: list[_Item] = []


_LIST = Decoder(_List)
_ITEM = Decoder(_Item)


class Plan:
    """Claude changes its list one task at a time, by number; others write it whole."""

    def __init__(self) -> None:
        self._tasks: dict[str, Todo] = {}

    def changed(self, tool: str, given: Raw) -> Planned | None:
        """The plan after this call of one of TOOLS; None when that tells nothing."""
        try:
            if tool in WHOLE:
                return _planned(_LIST.decode(given).todos)
            return self._changed_task(tool, _ITEM.decode(given))
        except UNDECODABLE:
            return None

    def _changed_task(self, tool: str, item: _Item) -> Planned | None:
        number = str(len(self._tasks) + 1) if tool == "TaskCreate" else item.task or ""
        before = self._tasks.get(number)
        if before is None and (tool == "TaskUpdate" or len(self._tasks) >= MOST):
            return None
        known = before or Todo("")
        self._tasks[number] = Todo(item.subject or known.text, state(item.status) if item.status else known.state)
        # Numbers go on counting, so what is deleted keeps its place and is only left out.
        if item.status == "deleted":
            self._tasks[number] = Todo("")
        todos = tuple(todo for todo in self._tasks.values() if todo.text)
        return Planned(todos) if todos else None


def state(word: str | None) -> TodoState:
    """Every agent's own word for it."""
    return _STATES.get(word or "", "pending")


def _planned(items: list[_Item]) -> Planned | None:
    todos = tuple(Todo(text, state(item.status)) for item in items if (text := _text(item)))
    return Planned(todos) if todos else None


def _text(item: _Item) -> str:
    return item.content or item.subject or item.description or ""
