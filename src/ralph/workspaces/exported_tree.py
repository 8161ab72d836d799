"""A tree of the repository in a folder of its own, apart from everyone's work, for as long as a block lasts."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph.model.errors import MachineError
from ralph.process.atomic_file import open_regular_file
from ralph.workspaces.git import Git
from ralph.workspaces.sealed.tree_copy import copy_folder, is_small_folder
from ralph.workspaces.sealed.untracked import choose_treatment

_EXPORT_NAME = re.compile(r"ralph-(\d{1,9})-\w+")
NO_HOOKS = ("-c", "core.hooksPath=/dev/null")


@contextmanager
def open_exported_tree(git: Git, name: str, write_files: Callable[[str], None] | None = None) -> Iterator[str]:
    """The folder with the files of that commit or tree, and with what is installed in the work tree: of the folders
    git ignores, dependencies are linked, small ones copied, caches left out. `write_files` writes others than the
    commit's: those only ralph's own git has; then no name is a folder apart from git. MachineError: git does not know
    the name."""
    git = git.with_options(*NO_HOOKS)
    home = tempfile.mkdtemp(prefix=f"ralph-{os.getpid()}-")
    folder = os.path.join(home, os.path.basename(git.folder) or "tree")  # tools name things after their folder
    try:
        empty = ("--no-checkout",) if write_files else ()
        if name:
            git.add_worktree(folder, "--detach", *empty, folder, _find_commit(git, name))
        else:
            os.mkdir(folder)
        if write_files:
            write_files(folder)
        _add_ignored_folders(git, folder)
        yield folder
    finally:
        if name:
            git.drop_worktree(folder)
        shutil.rmtree(home, ignore_errors=True)


def remove_abandoned_exports(git: Git, common: str) -> None:
    """What processes left that were killed. `common`: git's folder, which knows where they are; an agent may have
    written to it, so nothing is removed but what has our name, where we put it."""
    base = os.path.join(common, "worktrees")
    for name in os.listdir(base) if os.path.isdir(base) else ():
        folder = _read_worktree_folder(os.path.join(base, name, "gitdir"))
        home = os.path.dirname(folder)
        owner = _EXPORT_NAME.fullmatch(os.path.basename(home))
        is_ours = owner is not None and os.path.dirname(home) == tempfile.gettempdir() and not os.path.islink(home)
        if owner is not None and is_ours and not _is_alive(int(owner[1])):
            git.drop_worktree(folder)
            shutil.rmtree(home, ignore_errors=True)


def _read_worktree_folder(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular_file) as file:
            return os.path.dirname(os.path.normpath(file.read().strip()))
    except OSError:
        return ""


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's
    return True


def _find_commit(git: Git, name: str) -> str:
    if commit := git.find_commit(name):
        return commit
    made = git.as_ralph().run("commit-tree", f"{name}^{{tree}}", "-m", "ralph: files to check again")
    if not made.ok:
        raise MachineError(f"{name} is not in this repository", "get it with `git fetch`")
    return made.text


def _add_ignored_folders(git: Git, folder: str) -> None:
    listed = git.run("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    for name in filter(lambda name: name.endswith("/"), listed.output.split("\0")):
        source, target = os.path.join(git.folder, name.rstrip("/")), os.path.join(folder, name.rstrip("/"))
        treatment = choose_treatment(name, is_new=False)
        if treatment == "skip" or not os.path.isdir(os.path.dirname(target)) or os.path.lexists(target):
            continue
        if treatment == "link" or not is_small_folder(source):
            os.symlink(source, target)
        else:
            copy_folder(source, target)
