"""Hides secrets from all who watch a run: screen, event log, board. What agents are given is not touched."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from ralph.core.text.secrets import list_secret_values, redact, redact_values
from ralph.model.events import (
    AgentEnded,
    Committed,
    Debugged,
    Doing,
    Event,
    Finished,
    GateEnded,
    GateStarted,
    Hinted,
    IterationStarted,
    Noted,
    Planned,
    RunEnded,
    Said,
    ToolEnded,
    ToolStarted,
    Unparsed,
    Waiting,
    Warned,
)
from ralph.model.ports import Watcher

_TEXT_FIELDS: dict[type, tuple[str, ...]] = {
    Said: ("text",),
    ToolStarted: ("summary",),
    ToolEnded: ("output", "error"),
    Noted: ("text",),
    Finished: ("text", "error"),
    Unparsed: ("sample",),
    IterationStarted: ("about",),
    AgentEnded: ("detail",),
    GateStarted: ("gate", "command"),
    GateEnded: ("gate", "detail", "tail", "command"),
    Committed: ("message",),
    Doing: ("text",),
    Waiting: ("why",),
    Warned: ("text",),
    Hinted: ("text",),
    Debugged: ("text",),
    RunEnded: ("why", "question"),
}


class RedactingWatcher:
    """Stands before others. Secrets are known by their kind, and by value: what variables of secret names hold."""

    def __init__(self, watchers: Sequence[Watcher], variables: Mapping[str, str]) -> None:
        self._watchers = watchers
        self._values = list_secret_values(variables)

    def learn(self, variables: Mapping[str, str]) -> None:
        """More variables whose values nobody is to see."""
        self._values = tuple(dict.fromkeys((*self._values, *list_secret_values(variables))))

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        redacted = [redact_event(event, self.redact) for event in events]
        for watch in self._watchers:
            watch(at, iteration, redacted)

    def redact(self, text: str) -> str:
        """The same of a text that is shown later, by others."""
        return redact(redact_values(text, self._values))


def redact_event(event: Event, hide: Callable[[str], str]) -> Event:
    """The very event where there is nothing to hide."""
    if isinstance(event, Planned):
        todos = tuple(replace(todo, text=hide(todo.text)) for todo in event.todos)
        return event if todos == event.todos else Planned(todos)
    if isinstance(event, Committed | RunEnded) and (problems := tuple(map(hide, event.problems))) != event.problems:
        event = replace(event, problems=problems)
    if isinstance(event, ToolStarted) and event.edit is not None and (hunk := hide(event.edit.hunk)) != event.edit.hunk:
        event = replace(event, edit=replace(event.edit, hunk=hunk))
    changed = {
        name: shown
        for name in _TEXT_FIELDS.get(type(event), ())
        if (text := getattr(event, name)) and (shown := hide(text)) != text
    }
    return replace(event, **changed) if changed else event
