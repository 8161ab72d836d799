"""Whether the files that land are, byte for byte, those that were checked in the task's work tree."""

import os
import stat
from collections.abc import Iterable, Mapping

from ralph.workspaces.own_objects import hash_blob
from ralph.workspaces.tree_objects import SUBMODULE_MODE, TreeFile

MAX_LISTED_UNCHECKED_FILES = 5


def find_unchecked_files(folder: str, expected: Mapping[str, TreeFile | None]) -> list[str]:
    """Of these paths: those at which the folder holds something else. None: there should be no file."""
    return [path for path, file in expected.items() if not _is_as_expected(os.path.join(folder, path), file)]


def describe_unchecked_files(paths: Iterable[str]) -> str:
    """For the agent that is to put it right; nothing where there are none."""
    names = name_paths(paths)
    if not names:
        return ""
    return (
        f"what would be merged is not what was checked: {names}. What is committed"
        " differs from what is in the work tree: remove the filters, attributes, replaced objects or marks in the index"
        " that cause it, and commit the files as they are."
    )


def name_paths(paths: Iterable[str]) -> str:
    """a.txt, b.txt and 3 more"""
    names = sorted(paths)
    more = f" and {len(names) - MAX_LISTED_UNCHECKED_FILES} more" if len(names) > MAX_LISTED_UNCHECKED_FILES else ""
    return f"{', '.join(names[:MAX_LISTED_UNCHECKED_FILES])}{more}"


def _is_as_expected(path: str, file: TreeFile | None) -> bool:
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return file is None or file.mode == SUBMODULE_MODE
    if file is None or file.mode == SUBMODULE_MODE:
        return file is not None or stat.S_ISDIR(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        return file.mode == "120000" and hash_blob(os.fsencode(os.readlink(path)), file.blob) == file.blob
    if not stat.S_ISREG(found.st_mode) or file.mode == "120000":
        return False
    with open(path, "rb") as opened:
        content = opened.read()
    is_program = bool(found.st_mode & stat.S_IXUSR)
    return is_program == (file.mode == "100755") and hash_blob(content, file.blob) == file.blob
