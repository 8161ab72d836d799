"""What git needs of its directory in a sandbox, what of it is read-only there, and what is not there at all."""

import os
from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct

from ralph.core.watched_files import extract_git_program_settings, find_hooks_path
from ralph.process.atomic_file import open_regular_file
from ralph.workspaces.project_dir import ProjectDir, find_project_dir

_CLOSED_NAMES = ("hooks", "config", "config.worktree", "info", "commondir", "gitdir")  # what can make git run a program
_NAMES_OF_OTHERS = ("ralph", "worktrees")  # what ralph remembers, and what belongs to other work trees


class GitFolders(Struct, frozen=True, kw_only=True):
    """Absolute paths; all are there, but for the last."""

    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()  # these are not, and must not be made


def list_git_folders(root: str) -> GitFolders:
    """Of the work tree whose root this is."""
    project = find_project_dir(root)
    if project is None:
        return GitFolders()
    common, own = os.path.realpath(project.common), os.path.realpath(project.git_dir)
    hidden = _list_there(common, _NAMES_OF_OTHERS)
    if own != common:
        return _list_of_linked_tree(root, project, common=common, own=own)
    _make_closable(common)
    protected = (
        *_list_there(common, _CLOSED_NAMES),
        *_list_submodule_settings(common),
        *_list_git_file(root),
        *_list_own_hooks(root, common),
    )
    # git would read the configuration and hooks of the folder that this file names
    absent = tuple(path for name in ("commondir", "gitdir") if not os.path.lexists(path := os.path.join(common, name)))
    return GitFolders(writable=(common,), protected=protected, hidden=hidden, absent=absent)


def _make_closable(folder: str) -> None:
    """What is not there could be made: so it is made, empty, which git takes for nothing."""
    for name in ("hooks", "info"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    _make_own_settings(folder, folder)


def _make_own_settings(common: str, own: str) -> None:
    """Of one work tree: where git is told to read them."""
    with suppress(OSError), open(os.path.join(common, "config"), encoding="utf-8", errors="replace") as file:
        if "worktreeconfig" in file.read().lower():
            open(os.path.join(own, "config.worktree"), "a").close()


def _list_of_linked_tree(root: str, project: ProjectDir, *, common: str, own: str) -> GitFolders:
    """It commits on its own branch: of the refs, those beside it are all it can write to."""
    _make_own_settings(common, own)
    branch = _find_branch_folder(own)
    shared = [
        os.path.join(common, name) for name in ("objects", "reftable") if os.path.isdir(os.path.join(common, name))
    ]
    if branch:
        for folder in (os.path.join(common, branch), os.path.join(common, "logs", branch)):
            os.makedirs(folder, exist_ok=True)
            shared.append(folder)
    return GitFolders(
        writable=(own, *shared),
        readable=(common,),
        protected=(*_list_git_file(root), *_list_there(own, _CLOSED_NAMES), *_list_own_hooks(root, common)),
        hidden=_list_there(common, _NAMES_OF_OTHERS),
    )


def _find_branch_folder(own: str) -> str:
    """refs/heads/ralph for refs/heads/ralph/T-1; empty where no branch is checked out."""
    try:
        with open(os.path.join(own, "HEAD"), encoding="utf-8", opener=open_regular_file) as file:
            head = file.read().strip()
    except (OSError, UnicodeDecodeError):
        return ""
    name = head.removeprefix("ref: ")
    is_branch = head.startswith("ref: refs/heads/") and ".." not in name
    return os.path.dirname(name) if is_branch else ""


def _list_there(folder: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for name in names if os.path.exists(path := os.path.join(folder, name)))


def _list_git_file(root: str) -> tuple[str, ...]:
    """The file that names git's directory: who replaces it has another repository."""
    path = os.path.join(root, ".git")
    return (path,) if os.path.isfile(path) else ()


def _list_own_hooks(root: str, common: str) -> tuple[str, ...]:
    """Where git was told to look for hooks in the work tree: the user's next commit runs them. Of husky's folder, whose
    hooks call those beside it, all of it."""
    with suppress(OSError), open(os.path.join(common, "config"), encoding="utf-8", errors="replace") as file:
        named = find_hooks_path(extract_git_program_settings(file.read()))
        folder = os.path.realpath(os.path.join(root, os.path.expanduser(named)))
        folder = os.path.dirname(folder) if os.path.basename(folder) == "_" else folder
        if named and folder.startswith(f"{root}/") and os.path.isdir(folder):
            return (folder,)
    return ()


def _list_submodule_settings(common: str) -> Iterator[str]:
    for place, folders, _ in os.walk(os.path.join(common, "modules")):
        if "objects" in folders:
            folders[:] = [name for name in folders if name == "modules"]
            yield from _list_there(place, _CLOSED_NAMES)
