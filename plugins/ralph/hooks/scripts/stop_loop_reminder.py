"""Holds an iteration of a story loop back until tasks.json is legal and everything is committed."""

from __future__ import annotations

import os

import review
from session import MARKER, Note, active_root, answer_with, complain, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from session import Answer, Event

BLOCKS_IN_A_ROW = 5  # Claude Code itself gives up after 8, and then ends with an empty result
SHOWN_CHANGES = 20
SHOWN_PROBLEMS, LONGEST_PROBLEM = 30, 500
GIT = ["git", "-c", "core.fsmonitor=false", "--no-optional-locks", "status", "--porcelain"]
STEPS = """\
1. Update {folder}/progress.txt with what was accomplished + learnings
2. Consider if any lasting patterns belong in CLAUDE.md or `.claude/rules/`
3. Commit ALL changes including progress.txt and tasks.json updates"""


def remind(event: Event) -> Answer:
    """A block with every reason at once, or nothing."""
    active = active_root(event)
    if active is None:
        return None
    root, place = active
    marker = review.parse_marker(text_of(place) or "")
    folder = _folder(root, marker)
    reasons = [*_task_list(root, folder, marker), *_uncommitted(root, folder)]
    note = Note("ralph-stop-blocks", event)
    if not reasons:
        note.forget()
        return None
    return _block(reasons, note, in_a_row=event.get("stop_hook_active") is True)


def _block(reasons: list[str], note: Note, in_a_row: bool) -> Answer:
    if not in_a_row:
        note.forget()
    blocks = note.read() + 1
    counted = note.usable and blocks <= BLOCKS_IN_A_ROW and note.raise_to(blocks)
    if in_a_row and not counted:
        text = f"still not in order after {max(blocks - 1, 1)} reminders; letting go, the runner judges"
        complain(f"{text}:\n" + "\n".join(reasons))
        return {"systemMessage": f"ralph: {text}."}
    reason = "This iteration cannot end yet.\n\n" + "\n\n".join(reasons) + "\n\nPut this right, then stop again."
    return {"decision": "block", "reason": reason}


def _folder(root: str, marker: review.ActiveMarker) -> str:
    """Where the loop keeps its files, seen from the project."""
    if marker.folder:
        return marker.folder
    elsewhere = os.path.exists(os.path.join(root, ".ralph", "tasks.json"))
    return ".ralph" if elsewhere and not os.path.exists(os.path.join(root, "ralph", "tasks.json")) else "ralph"


def _task_list(root: str, folder: str, marker: review.ActiveMarker) -> list[str]:
    """Checks 1, 2 and 2.5."""
    text = text_of(os.path.join(root, folder, "tasks.json"))
    if text is None:
        path = os.path.join(root, folder, "tasks.json")
        what = "cannot be read: it is no plain file, or too large" if os.path.lexists(path) else "does not exist"
        return [f"{folder}/tasks.json {what}. Restore it: it holds the state of the whole loop."]
    problems, warnings = review.judge_story_file(review.parse_story_file(text), marker)
    for warning in warnings:
        complain(warning)
    if not problems:
        return []
    shown = [each[:LONGEST_PROBLEM] for each in problems[:SHOWN_PROBLEMS]]
    shown += ["…"] if len(problems) > SHOWN_PROBLEMS else []
    return [f"{folder}/tasks.json is not in order:\n" + "\n".join(f"- {each}" for each in shown)]


def _uncommitted(root: str, folder: str) -> list[str]:
    """Check 3."""
    import subprocess  # only when a loop is running: it takes longer to import than all the rest

    try:
        done = subprocess.run(GIT, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        complain(f"uncommitted changes not checked: {error}")
        return []
    if done.returncode:
        complain("uncommitted changes not checked: git says " + done.stderr.decode("utf-8", "replace").strip()[:200])
        return []
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    changes = [line for line in lines if not _is_ours(line, folder)]
    if not changes:
        return []
    shown = [*changes[:SHOWN_CHANGES], *(["…"] if len(changes) > SHOWN_CHANGES else [])]
    return ["There are uncommitted changes:\n" + "\n".join(shown) + "\n" + STEPS.format(folder=folder)]


def _is_ours(line: str, folder: str) -> bool:
    """What ralph itself keeps beside the work and nobody has to commit: the marker, settings, logs."""
    parts = line[3:].strip('"').split("/")
    kept = line.startswith("??") and ".ralph" in parts[:-1] and not folder.startswith(".ralph")
    return kept or parts[-1] == MARKER


if __name__ == "__main__":
    answer_with("the stop reminder", remind)
