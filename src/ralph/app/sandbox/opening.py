"""A sandbox for as long as a run needs it: its private folders are made before and removed after it."""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from msgspec.structs import replace

from ralph.app.paths import find_paths
from ralph.app.sandbox.choice import load_backend
from ralph.app.sandbox.git_folders import list_git_folders
from ralph.app.sandbox.identity import write_git_identity
from ralph.app.sandbox.leftovers import remember_sandbox
from ralph.app.sandbox.plan import SandboxRequest, build_plan, list_closed_settings, list_used_files
from ralph.core.text.write_error import explain_write_error
from ralph.model.command import Command, CommandExit
from ralph.model.ports import Processes, Sandbox
from ralph.model.sandbox import SandboxKind
from ralph.workspaces.sealed.tree_copy import remove_folder

_CACHES_FOLDER = "caches"


class Containment:
    """The sandbox of one work tree, and those of other folders for as long as a command runs there: the tree that a
    task lands is not the one it was made in."""

    def __init__(self, kind: SandboxKind, request: SandboxRequest, sandbox: Sandbox) -> None:
        self._kind, self._request, self.sandbox = kind, request, sandbox
        self._root = os.path.realpath(request.paths.root)
        self._absent = list_git_folders(self._root).absent
        self.closed, self.protected = list_closed_settings(request), request.settings.protected
        self._used = list_used_files(request)

    def remove_made(self) -> None:
        """What is not there in the sandbox's plan and was made inside: everything in there has ended."""
        self._used.remove_links_out()
        for path in self._absent:
            if os.path.lexists(path):
                remove_folder(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)

    def through(self, processes: Processes) -> "ContainedProcesses":
        return ContainedProcesses(self, processes)

    @contextmanager
    def open_for(self, folder: str, processes: Processes) -> Iterator[Sandbox]:
        if folder == self._root or folder.startswith(f"{self._root}/"):
            yield self.sandbox
            return
        elsewhere = replace(self._request, paths=find_paths(folder))
        with open_sandbox(self._kind, elsewhere, processes) as sandbox:
            yield sandbox


class ContainedProcesses:
    """The same processes, each command in its sandbox."""

    def __init__(self, containment: Containment, processes: Processes) -> None:
        self._containment, self._processes = containment, processes

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> CommandExit:
        with self._containment.open_for(os.path.realpath(command.cwd), self._processes) as sandbox:
            try:
                return self._processes.run(sandbox.wrap(command), on_output, on_error)
            finally:
                self._containment.remove_made()


@contextmanager
def open_containment(kind: SandboxKind, request: SandboxRequest, processes: Processes) -> Iterator[Containment]:
    list_used_files(request).refuse_links_out()
    with open_sandbox(kind, request, processes) as sandbox:
        yield Containment(kind, request, sandbox)


@contextmanager
def open_sandbox(kind: SandboxKind, request: SandboxRequest, processes: Processes) -> Iterator[Sandbox]:
    base = locate_sandboxes(request.variables)
    caches = os.path.join(base, _CACHES_FOLDER, name_project(request.paths.main_root))
    with open_scratch(os.path.join(base, "runs")) as scratch:
        plan = build_plan(request, scratch=scratch, caches=caches)
        write_git_identity(os.path.join(scratch, "home"), request.variables, processes)
        sandbox = load_backend(kind).build(plan, request.variables, processes)
        try:
            remember_sandbox(request.paths.run_dir(request.run), sandbox)
            yield sandbox
        finally:
            sandbox.close()


def locate_sandboxes(variables: Mapping[str, str]) -> str:
    """Beside ralph's other state of the user, which no sandbox holds."""
    state = variables.get("XDG_STATE_HOME", "")
    base = (
        state if state.startswith("/") else os.path.join(variables.get("HOME") or tempfile.gettempdir(), ".local/state")
    )
    return os.path.join(base, "ralph", "sandboxes")


@contextmanager
def open_scratch(base: str) -> Iterator[str]:
    """A folder of one's own, held by a lock: whoever finds it without one may remove it."""
    folder = os.path.join(base, f"{os.getpid()}-{os.urandom(4).hex()}")
    try:
        os.makedirs(folder, mode=0o700)
        lock = _lock(folder)
    except OSError as error:
        raise explain_write_error(folder, error) from error
    _remove_abandoned(base)
    try:
        yield folder
    finally:
        remove_folder(folder)
        if lock is not None:
            os.close(lock)


def _remove_abandoned(base: str) -> None:
    with suppress(OSError):
        for name in os.listdir(base):
            folder = os.path.join(base, name)
            if (lock := _lock(folder)) is not None:
                remove_folder(folder)
                os.close(lock)


def _lock(folder: str) -> int | None:
    """A handle that holds it; None where somebody else does, or where it is gone."""
    handle = None
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if handle is not None:
            os.close(handle)
        return None
    return handle


def name_project(root: str) -> str:
    import hashlib

    return f"{os.path.basename(root)[:40] or 'root'}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}"
