"""The names of supervised tasks and projects: safe as folder names, sortable by time."""

import re
from datetime import datetime

EXAMPLE_TASK_ID = "task-20260220-153045-my-feature"
MIN_TASK_SLUG_CHARS, MAX_TASK_SLUG_CHARS = 3, 50
_TASK_ID = re.compile(r"task-([0-9]{8})-([0-9]{6})-(.*)", re.DOTALL)
_SLUG = re.compile(r"[a-z0-9-]+")


def find_task_id_problem(task_id: str) -> str:
    """What is wrong with it, in one sentence; empty when nothing is."""
    found = _TASK_ID.fullmatch(task_id)
    if not found:
        return f"task id {task_id!r} is not of the form task-YYYYMMDD-HHMMSS-slug, such as {EXAMPLE_TASK_ID}"
    if not _is_time(found[1], found[2]):
        return f"task id {task_id!r} names no time there is: {found[1]}-{found[2]}"
    slug = found[3]
    if not MIN_TASK_SLUG_CHARS <= len(slug) <= MAX_TASK_SLUG_CHARS:
        allowed = f"{MIN_TASK_SLUG_CHARS} to {MAX_TASK_SLUG_CHARS} are allowed"
        return f"the slug of task id {task_id!r} has {len(slug)} characters; {allowed}"
    return _find_word_problem(f"the slug of task id {task_id!r}", slug)


def find_project_id_problem(project_id: str) -> str:
    """What is wrong with it, in one sentence; empty when nothing is."""
    if not project_id:
        return "the project id is empty"
    if len(project_id) > 255:
        return f"project id {project_id[:20]!r}… has {len(project_id)} characters; a folder's name has at most 255"
    return _find_word_problem(f"project id {project_id!r}", project_id)


def _find_word_problem(what: str, word: str) -> str:
    if not _SLUG.fullmatch(word):
        return f"{what} may hold only lower-case letters, digits and hyphens"
    if word.startswith("-") or word.endswith("-"):
        return f"{what} may not begin or end with a hyphen"
    return ""


def _is_time(date: str, time: str) -> bool:
    try:
        datetime.fromisoformat(f"{date}T{time}")
    except ValueError:
        return False
    return True
