"""Copies files into a folder that nobody else uses, as they are: bytes, links, the mark of a program."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress

from ralph.core.own_files import DRAFT_PREFIX
from ralph.workspaces.sealed.untracked import STALE_FOLDERS

MAX_COPIED_FILES = 20_000  # of one folder that is not tracked; beyond it is linked
MAX_COPIED_BYTES = 500 << 20


def copy_file(source: str, target: str) -> bool:
    """False where there is nothing that could be copied: a pipe, a socket, a file that is gone."""
    try:
        mode = os.lstat(source).st_mode
    except OSError:
        return False
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        return False
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), target)
        return True
    with open(source, "rb") as read, open(target, "xb") as written:
        _copy_bytes(read.fileno(), written.fileno(), os.fstat(read.fileno()).st_size)
        os.fchmod(written.fileno(), stat.S_IMODE(mode) | stat.S_IWUSR)
    return True


def put_file(folder: str, path: str, content: bytes, mode: str) -> None:
    """A file that git knows by its mode, in the place of whatever is there; that goes when the new one is complete."""
    clear_folders(folder, path)
    target = os.path.join(folder, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    draft = os.path.join(os.path.dirname(target), f"{DRAFT_PREFIX}{os.urandom(4).hex()}")
    try:
        _write_draft(draft, content, mode)
        if os.path.isdir(target) and not os.path.islink(target):
            remove_folder(target)
        os.replace(draft, target)
    except BaseException:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise


def _write_draft(draft: str, content: bytes, mode: str) -> None:
    if mode == "120000":
        os.symlink(os.fsdecode(content), draft)
        return
    with open(draft, "xb") as file:
        file.write(content)
        os.fchmod(file.fileno(), 0o755 if mode == "100755" else 0o644)


def remove_file(folder: str, path: str) -> None:
    """So that nothing is there, and no link on the way leads elsewhere."""
    clear_folders(folder, path)
    target = os.path.join(folder, path)
    if os.path.isdir(target) and not os.path.islink(target):
        remove_folder(target)
    elif os.path.lexists(target):
        os.unlink(target)


def clear_folders(folder: str, path: str) -> None:
    """Remove whatever took the place of a folder on the way to a file; a link would lead elsewhere."""
    at = folder
    for part in path.split("/")[:-1]:
        at = os.path.join(at, part)
        if os.path.lexists(at) and (os.path.islink(at) or not os.path.isdir(at)):
            os.unlink(at)


def is_small_folder(folder: str) -> bool:
    size = 0
    for files, path in enumerate(_walk_files(folder), 1):
        size += os.lstat(path).st_size
        if files > MAX_COPIED_FILES or size > MAX_COPIED_BYTES:
            return False
    return True


def copy_folder(source: str, target: str) -> None:
    for path in _walk_files(source):
        copy_file(path, os.path.join(target, os.path.relpath(path, source)))


def remove_folder(path: str) -> None:
    """Also where a check took away the right to."""
    shutil.rmtree(path, onerror=_retry_removal)


def _retry_removal(remove: Callable[[str], object], path: str, _error: object) -> None:
    """What still cannot be removed is left."""
    with suppress(OSError):
        for folder in (os.path.dirname(path), path):
            if not os.path.islink(folder):
                os.chmod(folder, 0o700)
        remove(path)


def _walk_files(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in STALE_FOLDERS]
        linked = [name for name in folders if os.path.islink(os.path.join(place, name))]
        yield from (os.path.join(place, name) for name in (*files, *linked))


def _copy_bytes(source: int, target: int, size: int) -> None:
    """By the kernel: a file system that can shares them until one is written to."""
    left = size
    while left > 0:
        try:
            done = os.copy_file_range(source, target, left)
        except (OSError, AttributeError):
            break
        if not done:
            break
        left -= done
    os.lseek(source, size - left, os.SEEK_SET)
    os.lseek(target, size - left, os.SEEK_SET)
    while block := os.read(source, 1 << 20):
        view = memoryview(block)
        while view:
            view = view[os.write(target, view) :]
