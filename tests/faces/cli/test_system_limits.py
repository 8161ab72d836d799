"""What the machine refuses is told in words."""

import resource
import subprocess

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


def test_runs_on_disk_without_records_are_told(workshop: ProjectFixture) -> None:
    assert workshop.ralph("run", "-p", "work").returncode == 0
    for path in (workshop.repo / ".git/ralph").glob("ralph.db*"):
        path.unlink()
    shown = workshop.ralph("status").stdout
    assert "1 run on disk" in shown
    assert "was deleted or emptied" in shown
