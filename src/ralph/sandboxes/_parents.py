"""Folders on the way to a closed path: one that could be renamed would let another be put in its place."""

import os
from collections.abc import Iterable, Sequence


def list_parents(closed: Iterable[str], opened: Sequence[str]) -> list[str]:
    """Those that are, or are below, a folder that is open."""
    found: set[str] = set()
    for path in closed:
        parent = os.path.dirname(path)
        while any(parent == folder or parent.startswith(f"{folder}/") for folder in opened):
            found.add(parent)
            parent = os.path.dirname(parent)
    return sorted(found)
