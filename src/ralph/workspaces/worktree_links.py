"""The two files by which a linked work tree and its repository find each other, after both were moved together."""

import os

from ralph.process.atomic_file import write_atomic


def repair_worktree_links(common: str, before: str, now: str) -> None:
    """As `git worktree repair` does, but also where the old place is still there: those of a copy must not lead to the
    original. Only work trees below the moved folder are ours to put right."""
    base = os.path.join(common, "worktrees")
    for name in os.listdir(base) if os.path.isdir(base) else ():
        link = os.path.join(base, name, "gitdir")
        target = _read_line(link)
        if not target.startswith(f"{before}/"):
            continue
        moved = now + target.removeprefix(before)
        if os.path.isfile(moved):  # the `.git` of the work tree
            write_atomic(link, f"{moved}\n")
            write_atomic(moved, f"gitdir: {os.path.join(base, name)}\n")


def _read_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().strip()
    except OSError:
        return ""
