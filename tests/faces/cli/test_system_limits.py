"""What the machine refuses is told in words."""

import resource
import subprocess
import sys

import pytest

from support.workshop import RALPH_ARGV, ProjectFixture


@pytest.mark.parametrize("most", [8, 12, 16])
def test_too_few_open_files_are_no_bug(workshop: ProjectFixture, most: int) -> None:
    done = subprocess.run(
        [*RALPH_ARGV, "run", "-p", "work"],
        cwd=workshop.repo,
        env=workshop.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)),
    )
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or "open" in done.stderr


# As `ulimit -u` does it, which holds for everybody but root: no program is started from now on.
NO_MORE_PROCESSES = """
import errno, os, sys
def refuse(*args, **options): raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
os.posix_spawn = os.fork = refuse
from ralph.__main__ import main
sys.argv = ["ralph", "run", "-p", "work"]
sys.exit(main())
"""


def test_a_machine_that_starts_no_more_processes_is_told_of(workshop: ProjectFixture) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_MORE_PROCESSES],
        cwd=workshop.repo,
        env=workshop.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert "ulimit -u" in done.stderr
    assert "internal error" not in done.stderr


def test_runs_on_disk_without_records_are_told(workshop: ProjectFixture) -> None:
    assert workshop.ralph("run", "-p", "work").returncode == 0
    for path in (workshop.repo / ".git/ralph").glob("ralph.db*"):
        path.unlink()
    shown = workshop.ralph("status").stdout
    assert "1 run on disk" in shown
    assert "was deleted or emptied" in shown
    for words in (("cost",), ("show",), ("logs",), ("run", "--resume")):
        told = workshop.ralph(*words)
        assert (told.returncode, "was deleted or emptied" in told.stderr) == (2, True), (
            words,
            told.stdout + told.stderr,
        )
