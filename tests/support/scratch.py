"""Where the folders of tests are: in memory where there is room, for thousands of commits wait for a disk otherwise."""

import os
import shutil
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 << 30
TEMPORARY_ROOT = "PYTEST_DEBUG_TEMPROOT"  # pytest's own variable


def put_scratch_in_memory() -> None:
    """Unless somebody chose a place. TMPDIR stays: programs under test have the folder they always have."""
    if TEMPORARY_ROOT not in os.environ and _holds_programs(MEMORY):
        os.environ[TEMPORARY_ROOT] = str(MEMORY)


def _holds_programs(folder: Path) -> bool:
    """A container's is small, and its files may not be started."""
    if not os.access(folder, os.W_OK) or shutil.disk_usage(folder).free < ENOUGH_BYTES:
        return False
    return not os.statvfs(folder).f_flag & os.ST_NOEXEC
