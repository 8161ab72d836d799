"""Trees as our own git has them: what is in one, and what differs between two."""

import os
from collections.abc import Sequence

from msgspec import Struct

from ralph.model.proofs import TreeChange
from ralph.workspaces.own_git import OwnGit

SUBMODULE_MODE = "160000"


class TreeFile(Struct, frozen=True):
    """A file in a tree."""

    mode: str
    blob: str


def compare_trees(own: OwnGit, before: str, after: str) -> list[TreeChange]:
    """All trees are ours: the objects of an agent are not asked what another tree held. No tree before: all is new."""
    if before == after:
        return []
    if not before:
        files = list_tree(own, after)
        return [TreeChange(path=path, new_blob=file.blob, new_mode=file.mode) for path, file in files.items()]
    said = own.run("diff-tree", "-r", "-z", "--raw", "--no-renames", before, after, own_objects=True)
    if not said.ok:
        raise said.build_error(f"cannot compare the trees {before} and {after}")
    words = said.output.split(b"\0")
    return [_parse_change(head, name) for head, name in zip(words[::2], words[1::2], strict=False)]


def list_tree(own: OwnGit, tree: str, paths: Sequence[str] = ()) -> dict[str, TreeFile]:
    """By path: all files, or those at these paths and below them."""
    said = own.run("--literal-pathspecs", "ls-tree", "-r", "-z", tree, "--", *paths, own_objects=True)
    if not said.ok:
        raise said.build_error(f"cannot read the tree {tree}")
    entries = (entry.partition(b"\t") for entry in said.output.split(b"\0") if entry)
    words = ((head.decode("ascii").split(" "), os.fsdecode(name)) for head, _, name in entries)
    return {name: TreeFile(mode, blob) for (mode, _, blob), name in words}


def _parse_change(head: bytes, name: bytes) -> TreeChange:
    old_mode, new_mode, old_blob, new_blob, _ = head.decode("ascii").lstrip(":").split(" ")
    old = {} if set(old_mode) == {"0"} else {"old_mode": old_mode, "old_blob": old_blob}
    new = {} if set(new_mode) == {"0"} else {"new_mode": new_mode, "new_blob": new_blob}
    return TreeChange(path=os.fsdecode(name), **old, **new)
