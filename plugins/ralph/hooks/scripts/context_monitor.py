"""Tells the agent, once per threshold, how full its context is. Starts afresh with every session."""

from __future__ import annotations

import os

from session import Note, answer_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from session import Answer, Event

WINDOW = 200_000  # tokens
CHARACTERS_PER_TOKEN = 4
NOTICE = (
    "Be mindful of remaining space. Plan to finish your current task within this session. If you discover follow-up "
    "work, add new stories to tasks.json — the next iteration will pick them up."
)
WARNING = (
    "Finish your current task and commit soon. Do not start additional tasks. If work remains, create new stories in "
    "tasks.json for the next iteration and capture any implementation details or insights in progress.txt so the next "
    "iteration has full context."
)
CRITICAL = (
    "Wrap up immediately. Do NOT start new work. Instead: (1) create tasks in tasks.json for any remaining work, "
    "(2) write implementation details, insights, and handoff notes to progress.txt, (3) commit all changes, (4) stop. "
    "The next iteration will continue from where you left off."
)
ALERTS = {
    90: ("CRITICAL", CRITICAL),
    80: ("WARNING", WARNING),
    70: ("WARNING", WARNING),
    60: ("NOTICE", NOTICE),
    50: ("NOTICE", NOTICE),
}


def monitor(event: Event) -> Answer:
    """The alert that is due, if any."""
    note = Note("context-alerts", event)
    if not note.usable:
        return None  # nothing tells this session from others
    name = event.get("hook_event_name")
    if name == "SessionStart":
        if event.get("source") != "compact":  # the same session goes on, and its transcript keeps its size
            note.forget()
        return None
    used = _percent_used(event.get("transcript_path"))
    threshold = next((each for each in ALERTS if used >= each), 0)
    if threshold <= note.read() or not note.raise_to(threshold):
        return None
    severity, text = ALERTS[threshold]
    alert = f"{severity}: about {used}% of the context window is used. {text}"
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": alert}}


def _percent_used(transcript: object) -> int:
    """By the transcript's size: rough, and rather early than late."""
    try:
        size = os.stat(transcript).st_size if isinstance(transcript, str) else 0
    except (OSError, ValueError):
        return 0
    return size * 100 // (CHARACTERS_PER_TOKEN * _window())


def _window() -> int:
    value = os.environ.get("CLAUDE_CONTEXT_WINDOW", "")
    return int(value) if value.isascii() and value.isdigit() and int(value) else WINDOW


if __name__ == "__main__":
    answer_with("the context monitor", monitor)
