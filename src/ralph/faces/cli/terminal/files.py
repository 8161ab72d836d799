"""A list of files and what happens to them, not longer than a screen."""

from collections.abc import Sequence

from ralph.core.text.plain import sanitize

MAX_SHOWN_FILES = 20


def list_files(verb: str, paths: Sequence[str], note: str = "") -> list[str]:
    """A line each; of more than fit, how many."""
    lines = [
        f"  {verb:8} {sanitize(path.encode('utf-8', 'replace').decode())}{note}\n" for path in paths[:MAX_SHOWN_FILES]
    ]
    if len(paths) > MAX_SHOWN_FILES:
        lines.append(f"  {verb:8} … and {len(paths) - MAX_SHOWN_FILES} more{note}\n")
    return lines
