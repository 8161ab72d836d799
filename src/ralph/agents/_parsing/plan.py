"""The agent's own to-do list, told whole each time it changes."""

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from ralph.agents._parsing.ndjson import DECODE_ERRORS
from ralph.model.events import Planned, Todo, TodoState

_TODO_STATES: dict[str, TodoState] = {
    "in_progress": "active",
    "in-progress": "active",
    "active": "active",
    "completed": "done",
    "done": "done",
    "cancelled": "done",
}
WHOLE_PLAN_TOOLS = frozenset({"TodoWrite", "todowrite", "todo_write", "write_todos"})
PLAN_TOOLS = WHOLE_PLAN_TOOLS | {"TaskCreate", "TaskUpdate"}
MAX_PLAN_TASKS = 500  # tasks; what comes after them is not told


class _Item(Struct, frozen=True, gc=False, kw_only=True):
    content: str | None = None
    subject: str | None = None
    description: str | None = None
    status: str | None = None
    task: str | None = field(default=None, name="taskId")


class _List(Struct, frozen=True, gc=False):
    todos: list[_Item] = []


_LIST_DECODER = Decoder(_List)
_ITEM_DECODER = Decoder(_Item)


class Plan:
    """Claude changes its list one task at a time, by number; others write it whole."""

    def __init__(self) -> None:
        self._tasks: dict[str, Todo] = {}

    def apply_call(self, tool: str, given: Raw) -> Planned | None:
        """The plan after this call of one of TOOLS; None when that tells nothing."""
        try:
            if tool in WHOLE_PLAN_TOOLS:
                return _build_plan(_LIST_DECODER.decode(given).todos)
            return self._apply_task_call(tool, _ITEM_DECODER.decode(given))
        except DECODE_ERRORS:
            return None

    def _apply_task_call(self, tool: str, item: _Item) -> Planned | None:
        number = str(len(self._tasks) + 1) if tool == "TaskCreate" else item.task or ""
        before = self._tasks.get(number)
        if before is None and (tool == "TaskUpdate" or len(self._tasks) >= MAX_PLAN_TASKS):
            return None
        known = before or Todo("")
        self._tasks[number] = Todo(
            item.subject or known.text, parse_todo_state(item.status) if item.status else known.state
        )
        # Numbers go on counting, so what is deleted keeps its place and is only left out.
        if item.status == "deleted":
            self._tasks[number] = Todo("")
        todos = tuple(todo for todo in self._tasks.values() if todo.text)
        return Planned(todos) if todos else None


def parse_todo_state(word: str | None) -> TodoState:
    """Every agent's own word for it."""
    return _TODO_STATES.get(word or "", "pending")


def _build_plan(items: list[_Item]) -> Planned | None:
    todos = tuple(Todo(text, parse_todo_state(item.status)) for item in items if (text := _pick_text(item)))
    return Planned(todos) if todos else None


def _pick_text(item: _Item) -> str:
    return item.content or item.subject or item.description or ""
