"""What in a work tree is not as the last commit has it."""

import os
from collections.abc import Mapping

from ralph.workspaces.git import Git
from ralph.workspaces.own_git import OwnGit
from ralph.workspaces.own_objects import OwnObjects, hash_blob
from ralph.workspaces.sealed.sealing import OldFile
from ralph.workspaces.tree_index import TreeIndex
from ralph.workspaces.tree_objects import SUBMODULE_MODE, compare_trees, list_tree

MAX_FILTERED_FILES = 200  # asked of git one by one


def find_uncommitted_files(
    own: OwnGit, git: Git, *, commit: str, committed: str, tree: str, baseline: str
) -> dict[str, OldFile | None]:
    """By path, as the commit has them; None: it has no such file. `committed` is the commit's tree as ours, `tree` what
    is there now. Files nobody has committed and that were the same when the run started are a person's: they stay."""
    known = list_tree(own, baseline) if baseline else {}
    found: dict[str, OldFile | None] = {}
    wanted = []
    for change in compare_trees(own, committed, tree):
        if SUBMODULE_MODE in (change.old_mode, change.new_mode):
            continue
        if change.old_blob:
            wanted.append(change)
        elif change.path not in known or known[change.path].blob != change.new_blob:
            found[change.path] = None
    contents = OwnObjects(own).read_blobs(change.old_blob for change in wanted)
    for number, change in enumerate(wanted):
        content = contents[change.old_blob]
        if number < MAX_FILTERED_FILES:  # line ends and large files may be other in a checkout than in the commit
            filtered = git.read_committed_file(commit, change.path)
            content = content if filtered is None else filtered
        is_same_mode = change.old_mode == change.new_mode
        if not (is_same_mode and change.new_blob and hash_blob(content, change.new_blob) == change.new_blob):
            found[change.path] = OldFile(change.old_mode, content)
    return found


def leave_out_folder(files: Mapping[str, OldFile | None], root: str, folder: str) -> dict[str, OldFile | None]:
    below = os.path.relpath(folder, root)
    return {path: file for path, file in files.items() if path != below and not path.startswith(f"{below}/")}


def write_committed_tree(own: OwnGit, index: TreeIndex, tree: str, files: Mapping[str, OldFile | None]) -> str:
    """The tree with these files as they are committed, as ours."""
    lines = [
        f"0 {'0' * len(tree)}\t{path}" if file is None else _store(own, path, file) for path, file in files.items()
    ]
    stdin = b"\0".join(os.fsencode(line) for line in lines) + b"\0"
    return index.write_changed_tree(tree, stdin)


def _store(own: OwnGit, path: str, file: OldFile) -> str:
    said = own.run("hash-object", "-w", "--stdin", stdin=file.content, own_objects=True)
    if not said.ok:
        raise said.build_error(f"cannot keep {path} as it is committed")
    return f"{file.mode} {said.text}\t{path}"
