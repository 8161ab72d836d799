"""Reads and writes files that lie where an agent may have put something else: a folder, a pipe, a link, too much."""

import errno
import os
import stat
from typing import TextIO

MAX_FILE_CHARS = 4 << 20  # characters: more than any list of stories, little enough to keep


def read_regular_file(path: str, largest: int = MAX_FILE_CHARS, errors: str = "replace") -> str:
    """Its text. OSError when there is none, when it is no regular file (a pipe would have us wait) or too large."""
    with open(path, encoding="utf-8", errors=errors, opener=open_regular_file) as file:
        text = file.read(largest + 1)
    if len(text) > largest:
        raise OSError(errno.EFBIG, f"Larger than {largest >> 20} MB", path)
    return text


def open_regular_file(path: str, flags: int) -> int:
    """For `open(…, opener=…)`: of a pipe we would wait for a writer, deaf to signals, and a device never ends."""
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise OSError(errno.EINVAL, "Not a regular file", path)


def open_without_links(path: str, errors: str = "replace") -> TextIO:
    """A log or prompt to write, from its beginning. A link that an agent put there gives way to a file."""
    if os.path.islink(path):
        os.unlink(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    return open(os.open(path, flags, 0o644), "w", encoding="utf-8", errors=errors)


def write_atomic(path: str, text: str, *, follow_links: bool = False) -> None:
    """All of it or nothing, on disk when this returns; its folder is made where there is none.

    With `follow_links` it is the user's own file: a link stays one, its mode stays, and whatever else is in the way is
    an error.
    Without, an agent may have been there: a link gives way to the file, a folder is moved aside with all it holds."""
    path = os.path.realpath(path) if follow_links else path
    folder = os.path.dirname(path)
    if not follow_links and not os.path.isdir(folder):
        _move_aside(folder)
    os.makedirs(folder, exist_ok=True)
    draft = f"{path}.{os.urandom(4).hex()}.new"  # a name nobody can have put a link or a pipe under
    try:
        _write_synced(draft, text, _read_mode(path) if follow_links else None)
        if not follow_links and os.path.isdir(path) and not os.path.islink(path):
            _move_aside(path)  # only now: what has no room on the disk displaces nothing
        os.replace(draft, path)
    except BaseException:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise
    _sync_folder(folder)


def remove_path(path: str) -> None:
    """So that nothing is there. A folder is moved aside, with all it holds."""
    if os.path.isdir(path) and not os.path.islink(path):
        _move_aside(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _move_aside(path: str) -> None:
    if os.path.lexists(path):
        os.rename(path, f"{path}.{os.urandom(4).hex()}.aside")


def _read_mode(path: str) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return None


def _write_synced(path: str, text: str, mode: int | None) -> None:
    with open(path, "x", encoding="utf-8", errors="surrogateescape") as file:
        if mode is not None:
            os.fchmod(file.fileno(), mode)  # before anything of it can be read
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: str) -> None:
    """So that the new name survives a crash, too. A file system that cannot do that has the file all the same."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
