"""The work tree as it is, with some files as they were: for commands that judge, apart from everyone.

Where bubblewrap works the copy stands at the work tree's own path, for these commands alone; elsewhere it is a folder
beside it. What a killed run left is removed by the next.
"""

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.text.write_error import DISK_ERRORS, DISK_HINT
from ralph.model.command import Bind, Command
from ralph.model.errors import DiskError, MachineError
from ralph.model.ports import Processes
from ralph.process.shell import find_program
from ralph.workspaces.sealed.clean_home import make_clean_home
from ralph.workspaces.sealed.tree_copy import remove_folder
from ralph.workspaces.sealed.untracked import is_newer

PROBE_TIMEOUT_SECONDS = 10.0
WRITABLE_IN_DEPENDENCIES = (".cache", ".vite", ".vitest")  # where tools keep what they made of them
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_SEALED_FOLDER = "sealed"  # the folder in our own directory
_NAME_MARK = ".sealed-"  # in the name of a copy beside the work tree


class SealedFolder(Struct, frozen=True, kw_only=True):
    """Implements the port `SealedTree`. `bwrap`: the program that mounts; empty: the copy is where it is."""

    root: str
    copy: str
    home: Mapping[str, str]
    bwrap: str = ""
    linked: tuple[str, ...] = ()  # folders that come from the work tree itself, read-only
    hidden: str = ""  # nobody there needs to see it
    objects: str = ""  # of the project, which would be hidden behind the copy

    @property
    def objects_mount(self) -> str:
        return os.path.join(self.root, ".git", "history")

    def locate(self, folder: str) -> str:
        below = os.path.relpath(folder, self.root)
        is_outside = self.bwrap or below.startswith("..")
        return folder if is_outside else os.path.normpath(os.path.join(self.copy, below))

    def wrap(self, command: Command) -> Command:
        if self.bwrap:
            argv = (self.bwrap, *self.list_mounts(), "--chdir", command.cwd, "--", *command.argv)
            return replace(command, argv=argv, environment={**command.environment, **self.home})
        moved = {name: self._move(value) for name, value in command.environment.items()}
        argv = tuple(map(self._move, command.argv))
        return replace(command, argv=argv, environment={**moved, **self.home}, cwd=self.locate(command.cwd))

    def contain(self, command: Command) -> Command:
        binds = [Bind(path=self.root, source=self.copy, writable=True)]
        if self.objects:
            binds.append(Bind(path=self.objects_mount, source=self.objects))
        binds += (Bind(path=path, source=path) for path in (os.path.join(self.root, name) for name in self.linked))
        binds += (Bind(path=folder, source=folder, writable=True) for folder in {self.home.get("HOME", "")} - {""})
        return replace(command, binds=(*command.binds, *binds), environment={**command.environment, **self.home})

    def list_mounts(self) -> Iterator[str]:
        """In the order they are made; what is not mounted over stays as it is."""
        yield from ("--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--die-with-parent")
        if self.hidden:
            yield from ("--tmpfs", self.hidden)
            for folder in {self.home.get("HOME", "")} - {""}:
                yield from ("--bind", folder, folder)
        yield from ("--bind", self.copy, self.root)
        if self.objects:
            yield from ("--ro-bind", self.objects, self.objects_mount)
        for name in self.linked:
            path = os.path.join(self.root, name)
            yield from ("--ro-bind", path, path)
            for inner in WRITABLE_IN_DEPENDENCIES:
                if os.path.isdir(os.path.join(path, inner)):
                    yield from ("--tmpfs", os.path.join(path, inner))

    def _move(self, text: str) -> str:
        """Paths into the work tree lead into the copy."""
        return re.sub(rf"(?<![\w./-]){re.escape(self.root)}(?![\w.-])", lambda _: self.copy, text)


class SealedPlaces:
    """Where copies of one work tree are made. `own`: our git directory of it."""

    def __init__(self, own: str, root: str, *, environment: Mapping[str, str], processes: Processes) -> None:
        self._own, self._root = own, root
        self._environment, self._processes = environment, processes

    @contextmanager
    def open(self, since: float) -> Iterator[SealedFolder]:
        """An empty one, removed with all that was written to it. `since`: when the run started."""
        self.remove_abandoned()
        name = f"{os.getpid()}-{os.urandom(4).hex()}"
        folder = os.path.join(self._own, _SEALED_FOLDER, name)
        os.makedirs(folder, mode=0o700)
        lock = _lock_folder(folder)
        try:
            home = make_clean_home(os.path.join(folder, "home"), self._environment, since)
            yield self._choose_place(folder, home, self._find_bwrap(since))
        except OSError as error:
            words = f"cannot copy the work tree: {error.strerror}: {error.filename}"
            raise (DiskError(words, DISK_HINT) if error.errno in DISK_ERRORS else MachineError(words)) from error
        finally:
            _remove_copy(folder)
            if lock is not None:
                os.close(lock)

    def remove_abandoned(self) -> None:
        """What runs left that were killed."""
        base = os.path.join(self._own, _SEALED_FOLDER)
        for name in os.listdir(base) if os.path.isdir(base) else ():
            folder = os.path.join(base, name)
            if (lock := _lock_folder(folder)) is not None:
                _remove_copy(folder)
                os.close(lock)

    def _find_bwrap(self, since: float) -> str:
        """One that was there before agents came: who mounts the sealed tree could also say that all went well."""
        for path in (self._environment.get("PATH", os.defpath), SYSTEM_PATH):
            found = find_program("bwrap", {"PATH": path}) or ""
            if found and not is_newer(found, since) and not is_newer(os.path.realpath(found), since):
                return found
        return ""

    def _choose_place(self, folder: str, home: Mapping[str, str], bwrap: str) -> SealedFolder:
        name, copy = os.path.basename(folder), os.path.join(folder, "tree")
        os.mkdir(copy)
        base = os.path.dirname(self._own)
        make = partial(SealedFolder, root=self._root, home=home, hidden=base if not _is_below(base, self._root) else "")
        if bwrap and self._can_mount(make(copy=copy, bwrap=bwrap)):
            return make(copy=copy, bwrap=bwrap)
        beside = f"{self._root}{_NAME_MARK}{name}"
        with open(os.path.join(folder, "place"), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(beside)
        try:
            os.mkdir(beside, 0o700)
        except OSError:
            return make(copy=copy)
        return make(copy=beside)

    def _can_mount(self, sealed: SealedFolder) -> bool:
        command = Command(
            argv=("/bin/sh", "-c", "exit 0"),
            environment=dict(self._environment),
            cwd=self._root,
            timeout=PROBE_TIMEOUT_SECONDS,
        )
        exited = self._processes.run(sealed.wrap(command), len, len)
        return exited.ending == "exited" and exited.code == 0


def _lock_folder(folder: str) -> int | None:
    """A handle that holds it; None where somebody else does, or where it is gone."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _remove_copy(folder: str) -> None:
    """With the copy beside the work tree; nothing is removed that does not have our name."""
    try:
        with open(os.path.join(folder, "place"), encoding="utf-8", errors="surrogateescape") as file:
            beside = file.read()
    except OSError:
        beside = ""
    if beside.endswith(f"{_NAME_MARK}{os.path.basename(folder)}") and not os.path.islink(beside):
        remove_folder(beside)
    remove_folder(folder)


def _is_below(path: str, root: str) -> bool:
    return os.path.commonpath((path, root)) == root
