"""What `setup` installed in one task's work tree serves the next with the same lock files: a copy is kept where no
sandbox leads. Only folders that do not mind where they are: a virtual environment knows its own path."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress

from ralph.model.command import Command
from ralph.model.ports import Processes
from ralph.process.shell import find_program
from ralph.workspaces.sealed.tree_copy import remove_folder

SHARED_FOLDERS = frozenset(("node_modules", "bower_components"))
MAX_SHARED_SETUPS = 3  # of one project
MAX_LISTED_OTHER_FILES = 50_000
_LIST_FILE = "folders"
_COPY_WORDS = ("-Rpc",) if sys.platform == "darwin" else ("-a", "--reflink=auto")
Listing = Mapping[str, tuple[int, int]]


class SharedSetup:
    """Of one project and one state of its lock files. `place`: a folder of our own for it."""

    def __init__(self, place: str, environment: Mapping[str, str], processes: Processes) -> None:
        self._place, self._environment, self._processes = place, environment, processes

    def restore(self, tree: str) -> bool:
        """Whether all of it is in the tree now; nothing there is overwritten."""
        try:
            with open(os.path.join(self._place, _LIST_FILE), encoding="utf-8") as file:
                names = file.read().splitlines()
        except (OSError, UnicodeDecodeError):
            return False
        targets = [os.path.join(tree, name) for name in names]
        if not names or any(map(os.path.lexists, targets)):
            return False
        with suppress(OSError):
            os.utime(self._place)  # the last to be forgotten
        return all(self._copy(self._locate(number), target) for number, target in enumerate(targets))

    def keep(self, tree: str, before: Listing | None) -> bool:
        """Whether it can serve others: only folders of that kind came. `before`: the files before setup was run."""
        after = list_other_files(tree)
        names = [*_find_shared(tree)]
        if before is None or after is None or after != before or not names:
            return False
        os.makedirs(os.path.dirname(self._place), mode=0o700, exist_ok=True)
        made = tempfile.mkdtemp(dir=os.path.dirname(self._place), prefix=".")
        kept = SharedSetup(made, self._environment, self._processes)
        try:
            if not all(kept._copy(os.path.join(tree, name), kept._locate(number)) for number, name in enumerate(names)):
                return False
            with open(os.path.join(made, _LIST_FILE), "w", encoding="utf-8") as file:
                file.writelines(f"{name}\n" for name in names)
            with suppress(OSError):  # another task was faster
                os.rename(made, self._place)
            return True
        finally:
            remove_folder(made)
            _forget_old(os.path.dirname(self._place))

    def _locate(self, number: int) -> str:
        return os.path.join(self._place, f"{number}")

    def _copy(self, source: str, target: str) -> bool:
        program = find_program("cp", self._environment)
        if program is None or not os.path.isdir(os.path.dirname(target)):
            return False
        argv = (program, *_COPY_WORDS, "--", source, target)
        command = Command(argv=argv, environment=self._environment, cwd=os.path.dirname(target))
        return self._processes.run(command, len, len).code == 0


def list_other_files(tree: str) -> Listing | None:
    """All but what is shared and git's own: path → time and size; None: too many to tell."""
    found: dict[str, tuple[int, int]] = {}
    for folder, folders, files in os.walk(tree):
        folders[:] = [name for name in folders if name not in (".git", *SHARED_FOLDERS)]
        for name in files:
            path = os.path.join(folder, name)
            if name != ".git" and (status := _stat(path)) is not None:
                found[path] = (status.st_mtime_ns, status.st_size)
        if len(found) > MAX_LISTED_OTHER_FILES:
            return None
    return found


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _find_shared(tree: str) -> Iterator[str]:
    for folder, folders, _ in os.walk(tree):
        yield from (
            os.path.relpath(os.path.join(folder, name), tree) for name in sorted(SHARED_FOLDERS.intersection(folders))
        )
        folders[:] = [name for name in folders if name not in (".git", *SHARED_FOLDERS)]


def _forget_old(base: str) -> None:
    with suppress(OSError):
        places = sorted(
            (entry for entry in os.scandir(base) if not entry.name.startswith(".")),
            key=lambda entry: entry.stat().st_mtime,
        )
        for entry in places[:-MAX_SHARED_SETUPS]:
            remove_folder(entry.path)
