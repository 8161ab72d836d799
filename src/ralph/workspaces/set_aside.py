"""Files of a work tree that are put away for a while, with others in their place, and come back whatever happens."""

import os
import stat
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ralph.workspaces.own_git import OwnGit, replace_file
from ralph.workspaces.own_objects import OwnObjects
from ralph.workspaces.sealed.tree_copy import put_file, remove_file
from ralph.workspaces.tree_objects import TreeFile

MAX_SET_ASIDE_BYTES = 16 << 20
_LINK_MODE, _PROGRAM_MODE, _FILE_MODE = "120000", "100755", "100644"


class _SetAsideFile(Struct, frozen=True):
    """Mode and content of a file; empty where there was none."""

    mode: str = ""
    blob: str = ""


class SetAsideFiles:
    """Of one task, in ralph's own git directory. `like`: the hash of a tree, for the kind of hash that is used."""

    def __init__(self, own: OwnGit, name: str) -> None:
        self._own, self._objects = own, OwnObjects(own)
        self._path = own.path("tasks", name, "shelf.json")

    def swap(self, wanted: Mapping[str, TreeFile | None], like: str) -> None:
        """What is there is kept, on disk before anything is touched; then the wanted files stand there. None: no
        file."""
        kept = {path: self._keep(path, like) for path in wanted}
        replace_file(self._path, msgspec.json.encode(kept))
        blobs = self._objects.read_blobs(file.blob for file in wanted.values() if file)
        for path, file in wanted.items():
            self._write(path, file.mode if file else "", blobs[file.blob] if file else b"")

    def put_back(self) -> tuple[str, ...]:
        """The paths, whoever wrote there meanwhile; none where nothing was put away."""
        try:
            with open(self._path, "rb") as file:
                kept = msgspec.json.decode(file.read(), type=dict[str, _SetAsideFile])
        except FileNotFoundError:
            return ()
        blobs = self._objects.read_blobs(each.blob for each in kept.values() if each.blob)
        for path, each in kept.items():
            self._write(path, each.mode, blobs[each.blob] if each.blob else b"")
        os.unlink(self._path)
        return tuple(kept)

    def restore(self, wanted: Mapping[str, TreeFile | None]) -> None:
        """For good; what is there now is not kept here."""
        blobs = self._objects.read_blobs(file.blob for file in wanted.values() if file)
        for path, file in wanted.items():
            self._write(path, file.mode if file else "", blobs[file.blob] if file else b"")

    def _keep(self, path: str, like: str) -> _SetAsideFile:
        place = os.path.join(self._own.root, path)
        try:
            mode = os.lstat(place).st_mode
            if stat.S_ISLNK(mode):
                return _SetAsideFile(_LINK_MODE, self._objects.write_blob(os.fsencode(os.readlink(place)), like))
            if not stat.S_ISREG(mode):
                return _SetAsideFile()
            with open(place, "rb") as file:
                content = file.read(MAX_SET_ASIDE_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return _SetAsideFile()
        git_mode = _PROGRAM_MODE if mode & stat.S_IXUSR else _FILE_MODE
        return _SetAsideFile(git_mode, self._objects.write_blob(content, like))

    def _write(self, path: str, mode: str, content: bytes) -> None:
        if mode:
            put_file(self._own.root, path, content, mode)
        else:
            remove_file(self._own.root, path)
            _remove_empty_folders(self._own.root, os.path.dirname(path))


def _remove_empty_folders(root: str, folder: str) -> None:
    """Git knows no empty folders; an agent may look into one."""
    while folder:
        try:
            os.rmdir(os.path.join(root, folder))
        except OSError:
            return
        folder = os.path.dirname(folder)
