"""What to say of a place that cannot be written, and what to do about it."""

import errno

from ralph.model.errors import DiskError, MachineError

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
DISK_HINT = "free some space or check the disk, then resume"
_DISK_WORDS = (
    "No space left on device",
    "Disk quota exceeded",
    "Disc quota exceeded",
    "Input/output error",
    "Read-only file system",
    # Git's own, for an index that could not be written; it does not say why.
    "Out of diskspace",
    "nable to write new index file",
    "nable to write new_index file",
)


def names_disk_error(complaint: str) -> bool:
    """Whether a program says that the disk is full or broken."""
    return any(words in complaint for words in _DISK_WORDS)


def explain_write_error(path: str, error: OSError) -> MachineError:
    """The error for a path that cannot be written, with what to do about it. `path` is used where the OSError names
    none."""
    where = str(error.filename or path)
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return DiskError(f"cannot write to {where}: {error.strerror}", "free some space, then try again")
        case errno.EIO:
            return DiskError(f"cannot write to {where}: {error.strerror}", "check the disk, then try again")
        case errno.EEXIST:
            return _folder_error(where)
        case errno.ENOTDIR:
            return _folder_error(where.rpartition("/")[0])
        case _:
            kind = DiskError if error.errno in DISK_ERRORS else MachineError
            why = error.strerror or error
            return kind(f"cannot write to {where}: {why}", "make it writable; `ralph doctor` checks it too")


def _folder_error(path: str) -> MachineError:
    return MachineError(f"{path} is not a folder, and ralph needs one there", f"move it away: mv {path} {path}.old")
