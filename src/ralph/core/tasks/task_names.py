"""The names of tasks and specs of the pipeline: safe as a folder, as a part of a branch's name and in a shell."""

import re

MAX_NAME_CHARS = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def find_name_problem(kind: str, name: str) -> str:
    """What is wrong with it, in one sentence; empty when nothing is."""
    if not name:
        return f"the {kind} id is empty"
    if len(name) > MAX_NAME_CHARS:
        return f"{kind} id {name[:20]!r}… has {len(name)} characters; {MAX_NAME_CHARS} are allowed"
    if not _NAME.fullmatch(name):
        return f"{kind} id {name!r} may hold only letters, digits, '.', '_' and '-', and begins with a letter or digit"
    if ".." in name or name.endswith((".", ".lock")):  # git's own rules for branches
        return f"{kind} id {name!r} may not hold '..' nor end with '.' or '.lock'"
    return ""
