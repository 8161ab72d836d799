"""Removes caches that were written while a run went on: a check would believe them instead of the source."""

import os
from contextlib import suppress

MAX_VISITED_FOLDERS = 50_000
_SELECTING_CACHES = ("lastfailed", "stepwise", "nodeids")
_SKIPPED_FOLDERS = frozenset(("node_modules", "site-packages", "target", ".git", ".tox", ".nox"))


def remove_new_bytecode(root: str, since: float) -> int:
    """How many files below the root were removed. They are a cache: whoever needs one makes it again."""
    removed = 0
    for visited, (folder, folders, files) in enumerate(os.walk(root)):
        if visited >= MAX_VISITED_FOLDERS:
            break
        if "pyvenv.cfg" in files:
            folders.clear()  # what is installed is not the project's
        elif os.path.basename(folder) == "__pycache__":
            folders.clear()
            removed += sum(_remove_if_new(os.path.join(folder, name), since) for name in files)
        else:
            folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS]
    return removed


def remove_new_test_cache(folder: str, since: float) -> int:
    """What pytest remembers of earlier runs, by which it may select tests."""
    kept = os.path.join(folder, ".pytest_cache/v/cache")
    return sum(_remove_if_new(os.path.join(kept, name), since) for name in _SELECTING_CACHES)


def _remove_if_new(path: str, since: float) -> bool:
    with suppress(OSError):
        if path.endswith((".pyc", *_SELECTING_CACHES)) and os.lstat(path).st_ctime >= since:
            os.unlink(path)
            return True
    return False
