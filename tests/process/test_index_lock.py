"""Which lock on the index is one of ours."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ralph.process.index_lock import IndexLock
from support.processes import wait_until


def leave_lock(folder: Path, seconds_later: float = 0.0) -> IndexLock:
    """As a commit of ours leaves it that is killed."""
    lock = IndexLock(str(folder / "index.lock"), str(folder / "committing"), folder=str(folder), longest=600.0)
    lock.announce_commit()
    (folder / "index.lock").write_text("")
    later = (folder / "committing").stat().st_mtime + seconds_later
    os.utime(folder / "index.lock", (later, later))
    return lock


def test_a_later_life_clears_what_a_killed_commit_left(tmp_path: Path) -> None:
    leave_lock(tmp_path)
    later = IndexLock(str(tmp_path / "index.lock"), str(tmp_path / "committing"), folder=str(tmp_path), longest=600.0)
    assert later.clear()
    assert not [*tmp_path.iterdir()]
    assert not later.clear()


@pytest.mark.parametrize("seconds_later", [-60.0, 3600.0])
def test_a_lock_of_another_time_is_not_ours(tmp_path: Path, seconds_later: float) -> None:
    assert not leave_lock(tmp_path, seconds_later).clear()
    assert (tmp_path / "index.lock").exists()


@pytest.mark.parametrize("words", [("-C", "{}"), ("--git-dir={}/.git",)])
def test_while_a_git_lives_there_no_lock_is_taken_for_ours(tmp_path: Path, words: tuple[str, ...]) -> None:
    git = shutil.which("git")
    assert git
    argv = [git, *(word.format(tmp_path) for word in words), "hash-object", "--stdin"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd="/") as living:
        name = Path(f"/proc/{living.pid}/comm")  # a moment after exec it is still that of its parent
        assert wait_until(lambda: name.read_text().startswith("git"))
        lock = leave_lock(tmp_path)
        assert not lock.clear()
        assert living.stdin
        living.stdin.close()
        living.wait()
        assert lock.clear()
