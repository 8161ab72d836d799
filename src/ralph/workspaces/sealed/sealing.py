"""Fills a sealed tree: tracked files from the disk, restored ones from the baseline, dependencies by links."""

import os
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.workspaces.project_dir import ProjectDir
from ralph.workspaces.sealed.sealed_tree import SealedFolder
from ralph.workspaces.sealed.tree_copy import copy_file, copy_folder, is_small_folder, put_file
from ralph.workspaces.sealed.untracked import choose_treatment, is_newer, is_stale_cache
from ralph.workspaces.tree_objects import SUBMODULE_MODE

_GIT_DIR_FILES, _COMMON_FILES = ("HEAD", "index"), ("packed-refs", "shallow")
_GIT_CONFIG = "[core]\nrepositoryFormatVersion = {version}\nbare = false\n"


class OldFile(Struct, frozen=True):
    """A file as it was."""

    mode: str
    content: bytes


class SealContent(Struct, frozen=True, kw_only=True):
    """What a sealed tree holds."""

    files: Mapping[str, str]  # all of the tree, by path, with their modes
    restored: Mapping[str, OldFile | None]  # None: it was not there
    added: frozenset[str]  # of the files: those that were not there when the run started
    untracked: Sequence[str]  # what else lies in the work tree; a folder ends with a slash
    since: float  # when the run started


def fill_sealed_tree(sealed: SealedFolder, content: SealContent, project: ProjectDir | None) -> SealedFolder:
    """The same, with files in it and the folders it links to."""
    for path, mode in content.files.items():
        is_left_out = path in content.restored or (path in content.added and is_stale_cache(path))
        if mode != SUBMODULE_MODE and not is_left_out:
            copy_file(os.path.join(sealed.root, path), os.path.join(sealed.copy, path))
    for path, old in content.restored.items():
        if old is not None:
            put_file(sealed.copy, path, old.content, old.mode)
    submodules = [path for path, mode in content.files.items() if mode == SUBMODULE_MODE]
    linked = [*submodules, *_add_untracked(sealed, content)]
    objects = project.objects if project and sealed.bwrap else ""
    if project is not None:
        _make_git_dir(project, os.path.join(sealed.copy, ".git"), sealed.objects_mount if objects else project.objects)
    if not sealed.bwrap:
        for path in linked:
            os.makedirs(os.path.dirname(os.path.join(sealed.copy, path)), exist_ok=True)
            os.symlink(os.path.join(sealed.root, path), os.path.join(sealed.copy, path))
    return replace(sealed, linked=tuple(linked), objects=objects)


def _add_untracked(sealed: SealedFolder, content: SealContent) -> Iterable[str]:
    """Copies what is small; the folders to link."""
    linked = []
    for name in content.untracked:
        path = name.rstrip("/")
        source, target = os.path.join(sealed.root, path), os.path.join(sealed.copy, path)
        treatment = choose_treatment(name, is_new=is_newer(source, content.since))
        if path in content.restored or treatment == "skip" or os.path.lexists(target):
            continue
        if not name.endswith("/"):
            copy_file(source, target)
        elif treatment == "link" or not is_small_folder(source):
            linked.append(path)
        else:
            copy_folder(source, target)
    return linked


def _make_git_dir(project: ProjectDir, target: str, objects: str) -> None:
    """A repository of its own with the project's history, for checks that ask git; none of its settings and hooks."""
    os.makedirs(os.path.join(target, "objects", "info"))
    os.makedirs(os.path.join(target, "refs"))
    for folder, names in ((project.git_dir, _GIT_DIR_FILES), (project.common, _COMMON_FILES)):
        for name in names:
            copy_file(os.path.join(folder, name), os.path.join(target, name))
    copy_folder(os.path.join(project.common, "refs"), os.path.join(target, "refs"))
    version = 1 if project.uses_sha256 else 0
    settings = _GIT_CONFIG.format(version=version) + ("[extensions]\nobjectFormat = sha256\n" if version else "")
    for name, text in (("config", settings), ("objects/info/alternates", f"{objects}\n")):
        with open(os.path.join(target, name), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
