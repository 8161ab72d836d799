"""Refuses what is plainly destructive while a loop runs without a sandbox. It prevents accidents; it is no boundary."""

from __future__ import annotations

import os

import review
from session import active_root, answer_with, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from session import Answer, Event

ALLOWANCES = "allowed-commands.txt"
_PATHS = ("file_path", "notebook_path")


def guard(event: Event) -> Answer:
    """A refusal, or nothing."""
    active = active_root(event)
    given = event.get("tool_input")
    if active is None or not isinstance(given, dict):
        return None
    root, place = active
    marker = review.parse_marker(text_of(place) or "")
    if marker.run_mode not in (None, "direct"):
        return None
    reason = _reason(event, given, root, marker.folder or "ralph")
    if not reason:
        return None
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": f"ralph's guard: {reason}",
        }
    }


def _reason(event: Event, given: dict[str, object], root: str, folder: str) -> str:
    import danger  # only when a loop is running
    import places

    cwd = event.get("cwd")
    ground = places.Ground(root, cwd if isinstance(cwd, str) and os.path.isabs(cwd) else root, folder)
    if event.get("tool_name") == "Bash" and isinstance(given.get("command"), str):
        return danger.in_command(str(given["command"]), ground, text_of(os.path.join(root, folder, ALLOWANCES)) or "")
    path = next((given[name] for name in _PATHS if isinstance(given.get(name), str)), None)
    if path is None:
        return ""
    at = places.located(str(path), ground) or ""
    return places.in_reading(at, ground) if event.get("tool_name") == "Read" else places.in_writing(at, ground)


if __name__ == "__main__":
    answer_with("the guard", guard)
