"""What became of settings, prompts and hooks, and which hooks got weaker. Loaded only once something has changed."""

import difflib
import json
from collections.abc import Iterator, Mapping

from msgspec import Struct

from ralph.core.text.secrets import redact
from ralph.core.watched_files import CLAUDE_SETTINGS, GIT_CONFIG, HOOKS_FOLDER, Texts, find_hooks_path

MAX_DIFF_LINES = 60


class FileChange(Struct, frozen=True):
    """A file that is not what it was."""

    name: str
    what: str  # added, changed, deleted
    diff: str


def compare_texts(before: Texts, after: Texts) -> tuple[FileChange, ...]:
    names = sorted({*before, *after})
    return tuple(_describe_change(name, before, after) for name in names if before.get(name) != after.get(name))


def find_hook_weakenings(before: Texts, after: Texts) -> tuple[str, ...]:
    """Hooks that no longer do what they did. One that was added is none."""
    return (*_compare_git_hooks(before, after), *_compare_claude_settings(before, after))


def _describe_change(name: str, before: Texts, after: Texts) -> FileChange:
    what = "added" if name not in before else "deleted" if name not in after else "changed"
    old, new = (redact(texts.get(name, "")).splitlines() for texts in (before, after))
    lines = [*difflib.unified_diff(old, new, f"before/{name}", f"now/{name}", lineterm="")]
    cut = [f"… {len(lines) - MAX_DIFF_LINES} more lines"] if len(lines) > MAX_DIFF_LINES else []
    return FileChange(name, what, "\n".join([*lines[:MAX_DIFF_LINES], *cut]))


def _compare_git_hooks(before: Texts, after: Texts) -> Iterator[str]:
    hooks = [name for name in before if _is_hook(name, before)]
    for name in hooks:
        if before[name] != after.get(name):
            yield f"git hook {'changed' if name in after else 'removed'}: {name}"
    then, now = (find_hooks_path(texts.get(GIT_CONFIG, "")) for texts in (before, after))
    if then != now and hooks:
        yield f"git looks for hooks in {now or HOOKS_FOLDER} (was {then or HOOKS_FOLDER})"


def _is_hook(name: str, before: Texts) -> bool:
    folder = find_hooks_path(before.get(GIT_CONFIG, ""))
    return name.startswith(HOOKS_FOLDER) or bool(folder and name.startswith(f"{folder.rstrip('/')}/"))


def _compare_claude_settings(before: Texts, after: Texts) -> Iterator[str]:
    for name in CLAUDE_SETTINGS:
        then, now = (_parse_object(texts.get(name, "")) for texts in (before, after))
        if lost := [*_list_entries(then, "hooks") - _list_entries(now, "hooks")]:
            yield f"{name}: a hook was removed or changed ({', '.join(sorted(lost))[:200]})"
        if _list_entries(then, "permissions", "deny") - _list_entries(now, "permissions", "deny"):
            yield f"{name}: a permission is no longer denied"
        if added := _list_entries(now, "permissions", "allow") - _list_entries(then, "permissions", "allow"):
            yield f"{name}: more is permitted ({', '.join(sorted(added))[:200]})"


def _parse_object(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _list_entries(settings: Mapping[str, object], *keys: str) -> set[str]:
    """What a part of the settings says, in pieces that can be compared: one for each key or item of it."""
    part: object = settings
    for key in keys:
        part = part.get(key) if isinstance(part, Mapping) else None
    if isinstance(part, dict):
        return {f"{key}: {json.dumps(value, sort_keys=True)}" for key, value in part.items()}
    return {json.dumps(item, sort_keys=True).strip('"') for item in part} if isinstance(part, list) else set()
