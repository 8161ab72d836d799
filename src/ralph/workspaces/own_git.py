"""Git with a directory of ralph's own: no hook, filter, attribute or setting of an agent's is in it.

Files are kept byte for byte. What we write goes to `store`; `objects` is empty and leads to it and, for reading, to the
project's own objects. So a tree of ours rests on objects of ours, and on what was committed when we first looked.
"""

import os
from collections.abc import Mapping

from msgspec import Struct

from ralph.core.text.write_error import DISK_HINT, names_disk_error
from ralph.model.command import GUARDIAN_KILLED, Command
from ralph.model.errors import DiskError, MachineError
from ralph.model.ports import GitResult, Processes

OWN_GIT_TIMEOUT_SECONDS = 300.0
LAST_LOOK_TIMEOUT_SECONDS = 10.0  # for a person who wants us to stop
MAX_OWN_OUTPUT_BYTES = 256 << 20
_NO_SETTINGS = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class OwnAnswer(Struct, frozen=True):
    """What our git answered, in bytes: names and files are not always text."""

    code: int
    output: bytes
    complaint: str = ""

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def text(self) -> str:
        return self.output.decode("ascii", "replace").strip()

    @property
    def problem(self) -> str:
        """What went wrong, in words; nothing of a git that was stopped: whoever did it knows."""
        return GitResult(self.code, "", self.complaint).problem if self.code > 0 else ""

    @property
    def disk_error(self) -> str:
        """The same, where the disk is full or broken."""
        return self.problem if names_disk_error(self.complaint) else ""

    def build_error(self, what: str) -> MachineError:
        """For who cannot go on without the answer; `what` could not be done."""
        if self.disk_error:
            return DiskError(f"{what}: {self.disk_error}", DISK_HINT)
        return MachineError(f"{what}: {self.problem or 'stopped'}")


class OwnGit:
    """One directory, asked about one work tree. All work trees of a repository share it."""

    def __init__(
        self, program: str, folder: str, *, root: str, environment: Mapping[str, str], processes: Processes
    ) -> None:
        self.folder, self.root = folder, root
        self.user_environment, self.processes = environment, processes
        self._program = program
        self.finishes = False  # from now on, whoever wants us to stop
        kept = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
        # Old versions know no GIT_CONFIG_GLOBAL; there are no settings of a user in our directory.
        self._environment = {**kept, **_NO_SETTINGS, "HOME": folder, "XDG_CONFIG_HOME": folder, "GIT_DIR": folder}

    def run(
        self,
        *words: str,
        stdin: bytes = b"",
        index: str = "",
        own_objects: bool = False,
        borrows: bool = False,
        root: str = "",
    ) -> OwnAnswer:
        """Run it; failing is an answer too. `own_objects`: what is written is kept even if the project has it;
        `borrows`: all the same, what only the project has is read."""
        variables = {"GIT_WORK_TREE": root or self.root, "GIT_INDEX_FILE": index or self.path("index")}
        if own_objects:
            variables["GIT_OBJECT_DIRECTORY"] = self.path("store")
        if borrows:
            variables["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = self.path("objects")
        command = Command(
            argv=(self._program, *words),
            environment={**self._environment, **variables},
            cwd=root or self.root,
            stdin=stdin,
            timeout=LAST_LOOK_TIMEOUT_SECONDS if self.finishes else OWN_GIT_TIMEOUT_SECONDS,
            finishes=self.finishes,
        )
        for _ in range(2):
            output, errors = _Collector(MAX_OWN_OUTPUT_BYTES), _Collector(1 << 16)
            exited = self.processes.run(command, output.add, errors.add)
            if exited.error != GUARDIAN_KILLED:
                break  # what our git does can be done again
            if os.path.exists(lock := f"{variables['GIT_INDEX_FILE']}.lock"):
                os.unlink(lock)
        if output.is_full:
            return OwnAnswer(1, b"", f"git answered with more than {MAX_OWN_OUTPUT_BYTES >> 20} MB")
        return OwnAnswer(exited.code, output.join(), exited.error or errors.join().decode("utf-8", "replace"))

    def path(self, *parts: str) -> str:
        """A file of ours in there; git does not mind."""
        return os.path.join(self.folder, *parts)

    def read_ref(self, name: str) -> str:
        try:
            with open(self.path(name), encoding="ascii") as file:
                return file.read().strip()
        except OSError:
            return ""

    def write_ref(self, name: str, commit: str) -> None:
        replace_file(self.path(name), f"{commit}\n".encode())

    def list_refs(self, folder: str) -> list[str]:
        """Their names, directly below that folder of refs."""
        try:
            return sorted(os.listdir(self.path(folder)))
        except OSError:
            return []


class _Collector:
    """All bytes up to so many."""

    def __init__(self, most: int) -> None:
        self._chunks: list[bytes] = []
        self._most, self._size = most, 0

    @property
    def is_full(self) -> bool:
        return self._size > self._most

    def add(self, data: bytes) -> None:
        self._size += len(data)
        if not self.is_full:
            self._chunks.append(data)

    def join(self) -> bytes:
        return b"".join(self._chunks)


def replace_file(path: str, data: bytes) -> None:
    """Whole or not at all. Not waited for: what a power failure takes is a snapshot, not the work."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    draft = f"{path}.{os.urandom(4).hex()}"
    try:
        with open(draft, "xb") as file:
            file.write(data)
        os.replace(draft, path)
    except BaseException:
        if os.path.exists(draft):
            os.unlink(draft)
        raise
