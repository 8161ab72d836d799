"""One run a work tree: a file lock that the kernel frees with its holder, and that tells who holds it."""

import fcntl
import os
from contextlib import suppress

import msgspec

from ralph.process.identity import Identity, is_alive, own


class Holder(msgspec.Struct, frozen=True):
    """Who has the lock."""

    run: str
    identity: Identity


class Lock:
    """Held from `acquire` until `release` or the end of the process."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd: int | None = None

    def acquire(self, run: str) -> Holder | None:
        """None when it is ours now; else who holds it. OSError where there is no place for it."""
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with open(fd, "rb") as file:
                return _holder(file.read())
        self._fd = fd
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, msgspec.json.encode(Holder(run, own())), 0)
        except OSError:
            self.release()
            raise
        return None

    def release(self) -> None:
        """Free it for the next."""
        fd, self._fd = self._fd, None
        if fd is not None:
            with suppress(OSError):  # on a disk that went bad, a lock that still names us is no lock all the same
                os.ftruncate(fd, 0)
            os.close(fd)


def holder_of(path: str) -> Holder | None:
    """Who has it, found out without trying to take it."""
    try:
        with open(path, "rb") as file:
            holder = _holder(file.read())
    except OSError:
        return None
    return holder if is_alive(holder.identity) else None


def _holder(content: bytes) -> Holder:
    try:
        return msgspec.json.decode(content, type=Holder)
    except msgspec.DecodeError:  # it is being written this very moment
        return Holder("", Identity(0, 0, ""))
