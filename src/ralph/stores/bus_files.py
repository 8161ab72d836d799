"""The files of a message bus: opened safely, locked, appended to whole or not at all, set aside when large."""

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from ralph.core.supervised.bus_format import find_append_point
from ralph.model.errors import Busy
from ralph.model.message import BusUnusable

MAX_LOCK_TRIES, LOCK_BACKOFF_SECONDS = 3, 0.1
_SAFE_OPEN_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a symlink is refused, a FIFO cannot hang us
_TAIL_WINDOW_BYTES = 4096  # of the tail, looked at before every append


@contextmanager
def lock_bus_file(path: Path, seconds: float) -> Iterator[int]:
    """The file, made where there is none, and ours alone. Waits that long, three times."""
    for attempt in range(MAX_LOCK_TRIES):
        if attempt:
            time.sleep(LOCK_BACKOFF_SECONDS * 2 ** (attempt - 1))
        fd = _try_lock(path, time.monotonic() + seconds)
        if fd is not None:
            break
    else:
        raise Busy(f"message bus {str(path)!r} is locked by another process", "try again when that process is done")
    try:
        yield fd
    finally:
        os.close(fd)


def append_entry(fd: int, entry: bytes) -> None:
    """One write, behind what is whole. Nothing is synced: a kill loses nothing written, the truth is in the database,
    and fsync makes 100 posts a second of 37,000."""
    keep, glue = _find_append_point(fd)
    if keep < os.fstat(fd).st_size:
        os.ftruncate(fd, keep)
    try:
        if os.write(fd, glue + entry) < len(glue + entry):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        os.ftruncate(fd, keep)
        raise BusUnusable(f"cannot write to the message bus: {error.strerror}", "nothing was posted") from error


def archive_bus_file(fd: int, path: Path) -> None:
    """Make room for a new file. Who holds the lock alone gives names, so this one is free."""
    os.ftruncate(fd, _find_append_point(fd)[0])
    number = max(_list_archive_numbers(path), default=0) + 1
    os.rename(path, _archive_path(path, number))


@contextmanager
def open_bus_files(path: Path) -> Iterator[list[BinaryIO]]:
    """All files of the bus, oldest first. The live one is opened before the others are listed: should it be set aside
    in between, it is among them."""
    with ExitStack() as stack:
        live = _open_to_read(path)
        found = [
            file
            for number in sorted(_list_archive_numbers(path))
            if (file := _open_to_read(_archive_path(path, number)))
        ]
        if live and not any(os.path.sameopenfile(live.fileno(), file.fileno()) for file in found):
            found.append(live)
        for file in (*found, live):
            if file:
                stack.enter_context(file)
        yield found


def _list_archive_numbers(path: Path) -> list[int]:
    name = re.compile(re.escape(path.name) + r"\.([0-9]{6,9})\.archived")
    try:
        return [int(match[1]) for entry in os.listdir(path.parent) if (match := name.fullmatch(entry))]
    except FileNotFoundError:
        return []


def _archive_path(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number:06d}.archived")


def _try_lock(path: Path, deadline: float) -> int | None:
    """The file, locked; None when that takes too long."""
    pause = 0.0005
    while True:
        fd = _open_safely(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_live(fd, path):
                return fd
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(fd)
                return None
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        os.close(fd)  # taken, or set aside while we came


def _is_live(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except FileNotFoundError:
        return False


def _find_append_point(fd: int) -> tuple[int, bytes]:
    """Where the next entry begins, and what parts it from the one before. A torn tail lies behind that."""
    size, window = os.fstat(fd).st_size, _TAIL_WINDOW_BYTES
    while True:
        start = max(0, size - window)
        found = find_append_point(os.pread(fd, size - start, start), at_start=start == 0)
        if found:
            return start + found.keep, found.separator
        window *= 4


def _open_to_read(path: Path) -> BinaryIO | None:
    try:
        return os.fdopen(_open_safely(path, os.O_RDONLY), "rb")
    except FileNotFoundError:
        return None


def _open_safely(path: Path, flags: int) -> int:
    try:
        fd = os.open(path, flags | _SAFE_OPEN_FLAGS, 0o644)
        mode = os.fstat(fd).st_mode
        if stat.S_ISREG(mode):
            return fd
        os.close(fd)
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO, "")
    except FileNotFoundError as error:
        if flags & os.O_CREAT:
            raise BusUnusable(f"no folder {str(path.parent)!r} for a message bus", "create it first") from error
        raise
    except OSError as error:
        why = {errno.ELOOP: "a symlink", errno.EISDIR: "a directory", errno.ENXIO: "not a regular file"}
        said = f"is {why[error.errno]}" if error.errno in why else f"cannot be opened: {error.strerror}"
        raise BusUnusable(f"message bus {str(path)!r} {said}", "name a plain file") from error
