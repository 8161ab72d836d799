"""One run a work tree: a file lock that the kernel frees with its holder, and that tells who holds it."""

import fcntl
import os
from contextlib import suppress

import msgspec

from ralph.process.identity import ProcessIdentity, find_liveness, identify_self


class LockHolder(msgspec.Struct, frozen=True):
    """Who has the lock."""

    run: str
    identity: ProcessIdentity


class WorkTreeLock:
    """Held from `acquire` until `release` or the end of the process."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd: int | None = None

    def acquire(self, run: str) -> LockHolder | None:
        """None when it is ours now; else who holds it. OSError where there is no place for it."""
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with open(fd, "rb") as file:
                return _decode_holder(file.read())
        self._fd = fd
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, msgspec.json.encode(LockHolder(run, identify_self())), 0)
        except OSError:
            self.release()
            raise
        return None

    def release(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            with suppress(OSError):  # on a disk that went bad, a lock that still names us is no lock all the same
                os.ftruncate(fd, 0)
            os.close(fd)


def find_lock_holder(path: str) -> LockHolder | None:
    """Who has it, found out without trying to take it."""
    try:
        with open(path, "rb") as file:
            holder = _decode_holder(file.read())
    except OSError:
        return None
    return None if find_liveness(holder.identity) == "dead" else holder


def _decode_holder(content: bytes) -> LockHolder:
    try:
        return msgspec.json.decode(content, type=LockHolder)
    except msgspec.DecodeError:  # it is being written this very moment
        return LockHolder("", ProcessIdentity(0, 0, ""))
