"""What is said of a place that cannot be written."""

import errno
import os

import pytest

from ralph.core.text.write_error import explain_write_error, names_disk_error
from ralph.model.errors import DiskError


def failed(number: int, path: str | None = None) -> OSError:
    return OSError(number, os.strerror(number), path)


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (failed(errno.ENOSPC, "/r/x"), "cannot write to /r/x: No space left on device", "free some space"),
        (failed(errno.ENOSPC), "cannot write to /r: No space left on device", "free some space"),
        (failed(errno.EIO, "/r/x"), "cannot write to /r/x: Input/output error", "check the disk"),
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


@pytest.mark.parametrize(
    ("number", "is_disk"),
    [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EIO, True), (errno.EROFS, True), (errno.EACCES, False)],
)
def test_a_full_or_broken_disk_is_an_error_of_its_own(number: int, is_disk: bool) -> None:
    assert isinstance(explain_write_error("/r", failed(number)), DiskError) is is_disk
    assert names_disk_error(f"fatal: cannot write: {os.strerror(number)}") is is_disk


@pytest.mark.parametrize(
    ("complaint", "is_disk"),
    [
        ("fatal: sha1 file '/x/index.lock' write error. Out of diskspace", True),
        ("fatal: Unable to write new index file", True),
        ("error: could not write index: unable to write new_index file", True),
        ("fatal: not a tree object", False),
    ],
)
def test_git_tells_it_in_words_of_its_own(complaint: str, is_disk: bool) -> None:
    assert names_disk_error(complaint) is is_disk
