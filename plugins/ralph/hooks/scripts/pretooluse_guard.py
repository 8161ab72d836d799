"""Refuses what is plainly destructive while a loop runs without a sandbox. It prevents accidents; it is no boundary.

A loop that runs Claude Code names its project on the command line, `--project FOLDER`; by the plugin alone, a story
loop is known by its marker.
"""

from __future__ import annotations

import os
import sys

import review
from session import active_root, answer_with, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from session import Answer, Event

ALLOWANCES = "allowed-commands.txt"
STORIES = "ralph"
_PATHS = ("file_path", "notebook_path")


def guard(event: Event) -> Answer:
    """A refusal, a warning, or nothing."""
    given = event.get("tool_input")
    active = _find_project(event)
    if active is None or not isinstance(given, dict):
        return None
    level, reason = _judge(event, given, active)
    if not level:
        return None
    told = {"hookEventName": "PreToolUse"}
    if level == "warn":
        told["additionalContext"] = f"ralph's guard warns: {reason} It was not refused; make sure it is what you mean."
    else:
        told["permissionDecision"] = "deny"
        told["permissionDecisionReason"] = f"ralph's guard: {reason}"
    return {"hookSpecificOutput": told}


def _find_project(event: Event) -> tuple[str, str, bool] | None:
    """The project, its folder of stories, and whether a loop lives on that; None where there is nothing to guard."""
    named = sys.argv[2] if sys.argv[1:2] == ["--project"] and len(sys.argv) > 2 else ""
    if not named and os.environ.get("RALPH_GUARD"):
        return None  # the runner brought its own, or was told to bring none
    active = active_root(event)
    if active is None:
        return (named, STORIES, False) if named else None
    root, place = active
    marker = review.parse_marker(text_of(place) or "")
    is_guarded = bool(named) or marker.run_mode in (None, "direct")
    return (named or root, marker.folder or STORIES, True) if is_guarded else None


def _judge(event: Event, given: dict[str, object], active: tuple[str, str, bool]) -> tuple[str, str]:
    import danger  # only when a loop is running
    import places

    root, folder, has_stories = active
    cwd = event.get("cwd")
    at = cwd if isinstance(cwd, str) and os.path.isabs(cwd) else root
    ground = places.Ground(root, at, folder, has_stories=has_stories)
    if event.get("tool_name") == "Bash" and isinstance(given.get("command"), str):
        allowed = text_of(os.path.join(root, folder, ALLOWANCES)) or ""
        return danger.judge_command(str(given["command"]), ground, allowed)
    path = next((given[name] for name in _PATHS if isinstance(given.get(name), str)), None)
    if path is None:
        return "", ""
    found = places.located(str(path), ground) or ""
    reads = event.get("tool_name") == "Read"
    reason = places.in_reading(found, ground) if reads else places.in_writing(found, ground)
    return ("block", reason) if reason else ("", "")


if __name__ == "__main__":
    answer_with("the guard", guard)
