"""What to say of a place that cannot be written, and what to do about it."""

import errno

from ralph.model.errors import MachineError


def explain_write_error(path: str, error: OSError) -> MachineError:
    """The error for a path that cannot be written, with what to do about it. `path` is used where the OSError names
    none."""
    where = str(error.filename or path)
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return MachineError(f"cannot write to {where}: {error.strerror}", "free some space, then try again")
        case errno.EEXIST:
            return _folder_error(where)
        case errno.ENOTDIR:
            return _folder_error(where.rpartition("/")[0])
        case _:
            why = error.strerror or error
            return MachineError(f"cannot write to {where}: {why}", "make it writable; `ralph doctor` checks it too")


def _folder_error(path: str) -> MachineError:
    return MachineError(f"{path} is not a folder, and ralph needs one there", f"move it away: mv {path} {path}.old")
