"""What is said of a place that cannot be written."""

import errno
import os

import pytest

from ralph.core.text.write_error import explain_write_error


def failed(number: int, path: str | None = None) -> OSError:
    return OSError(number, os.strerror(number), path)


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (failed(errno.ENOSPC, "/r/x"), "cannot write to /r/x: No space left on device", "free some space"),
        (failed(errno.ENOSPC), "cannot write to /r: No space left on device", "free some space"),
        (failed(errno.EROFS, "/r/x"), "cannot write to /r/x: Read-only file system", "make it writable"),
        (failed(errno.EACCES, "/r/x"), "cannot write to /r/x: Permission denied", "make it writable"),
        (
            failed(errno.EEXIST, "/r/x"),
            "/r/x is not a folder, and ralph needs one there",
            "move it away: mv /r/x /r/x.old",
        ),
        (failed(errno.ENOTDIR, "/r/x"), "/r is not a folder, and ralph needs one there", "move it away: mv /r /r.old"),
        (OSError("odd"), "cannot write to /r: odd", "make it writable"),
    ],
)
def test_it_tells_what_and_which_and_what_to_do(error: OSError, message: str, hint: str) -> None:
    told = explain_write_error("/r", error)
    assert (told.message, told.exit_code) == (message, 2)
    assert told.hint.startswith(hint)
