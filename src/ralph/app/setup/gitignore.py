"""What a repository should not keep of us: finds what `.gitignore` lacks, and adds it."""

import os
from collections.abc import Sequence

from ralph.app.paths import find_paths
from ralph.core.own_files import GITIGNORE_LINES
from ralph.process.atomic_file import open_regular_file

_ALL_OF_RALPH = {".ralph", ".ralph/", ".ralph/*", ".ralph/**"}


def find_missing_ignores(folder: str) -> tuple[str, ...]:
    """The lines `.gitignore` lacks."""
    return () if _ALL_OF_RALPH & _read_lines(folder) else _find_missing(folder, GITIGNORE_LINES)


def ignore_logs(folder: str) -> str:
    """Add what `.gitignore` lacks, in a git repository; what was done, in a sentence."""
    return ignore_lines(folder, find_missing_ignores(folder)) if find_paths(folder).in_git else ""


def ignore_lines(folder: str, lines: Sequence[str]) -> str:
    """Add those that `.gitignore` lacks; what was done, in a sentence."""
    missing = _find_missing(folder, lines)
    if not missing:
        return ""
    try:
        _append_lines(os.path.join(folder, ".gitignore"), missing)
    except OSError as error:
        return f"Could not add {', '.join(missing)} to .gitignore: {error.strerror}"
    return f"Added {', '.join(missing)} to .gitignore"


def _find_missing(folder: str, lines: Sequence[str]) -> tuple[str, ...]:
    known = _read_lines(folder)
    return tuple(line for line in lines if line not in known)


def _read_lines(folder: str) -> set[str]:
    try:
        with open(
            os.path.join(folder, ".gitignore"), encoding="utf-8", errors="replace", opener=open_regular_file
        ) as file:
            return {line.strip().lstrip("/") for line in file}
    except OSError:
        return set()


def _append_lines(path: str, lines: Sequence[str]) -> None:
    """The rest stays as it is, its line ends included."""
    with open(path, "a+b") as file:
        file.seek(0)
        before = file.read()
        end = b"\r\n" if b"\r\n" in before else b"\n"
        start = end if before and not before.endswith(b"\n") else b""
        file.write(start + b"".join(line.encode() + end for line in lines))
