"""Paths a task names: they count from the worktree and never lead out of it."""

import os


def resolve_inside(folder: str, path: str) -> str | None:
    """The real path, symbolic links followed; None when it leads out."""
    if "\0" in path:
        return None
    root = os.path.realpath(folder)
    real = os.path.realpath(os.path.join(root, path))
    return real if os.path.commonpath((root, real)) == root else None
