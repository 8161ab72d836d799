"""Git's lock on the index, where a commit of ours was killed and left it. Nobody else's is touched."""

import os
from contextlib import suppress

from ralph.process.atomic_file import write_atomic


class IndexLock:
    """`mark` is a file of the run: it is there while a commit of ours is under way, or was when we were killed."""

    def __init__(self, path: str, mark: str, *, folder: str, longest: float) -> None:
        """`folder`: the work tree; `longest`: how many seconds a commit of ours may take, a lock made later than that
        is another's."""
        self._path, self._mark, self._folder, self._longest = path, mark, folder, longest

    def announce_commit(self) -> None:
        """Where a lock is there already, it is another's, and our commit will fail by it."""
        if not os.path.lexists(self._path):
            write_atomic(self._mark, "")

    def forget_commit(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._mark)

    def clear(self) -> bool:
        """Whether a lock was there that a killed commit of ours had left; it is gone now."""
        try:
            marked, locked = os.stat(self._mark).st_mtime, os.stat(self._path).st_mtime
        except OSError:
            self.forget_commit()
            return False
        if not marked - 1 <= locked <= marked + self._longest:
            self.forget_commit()
            return False
        if _may_git_live(self._folder):
            return False
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        self.forget_commit()
        return True


def _may_git_live(folder: str) -> bool:
    """Whether a git works in that work tree, or one that nobody can look at. Without /proc, nobody can tell."""
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True
    return any(_is_git(name) and _may_work_in(name, os.path.realpath(folder)) for name in names)


def _is_git(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            head, _, rest = file.read().rpartition(b")")
    except OSError:
        return False  # gone
    return head.partition(b"(")[2].startswith(b"git") and rest.split()[0] not in (b"Z", b"X")


def _may_work_in(pid: str, folder: str) -> bool:
    try:
        if f"{os.readlink(f'/proc/{pid}/cwd')}/".startswith(f"{folder}/"):
            return True
        for name in ("cmdline", "environ"):  # --git-dir and GIT_DIR lead there from anywhere
            with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
                words = file.read()
            if os.fsencode(folder) in words or (name == "cmdline" and not words):  # it has just begun
                return True
    except (FileNotFoundError, ProcessLookupError):
        return False  # gone
    except OSError:
        return True  # another user's
    return False
