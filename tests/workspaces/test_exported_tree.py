"""A tree in a folder of its own: what is in it, and what becomes of it."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.workspaces.exported_tree import open_exported_tree, remove_abandoned_exports
from support.repository import RepositoryFixture, open_repository


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[RepositoryFixture]:
    with open_repository(tmp_path) as made:
        yield made


def test_it_has_the_commits_files_and_what_is_installed(repo: RepositoryFixture) -> None:
    commit = repo.commit(".gitignore", "node_modules/\nbuild/\n__pycache__/\n")
    for name in ("node_modules/dep", "build/out", "__pycache__/x.pyc"):
        (repo.root / name).parent.mkdir()
        (repo.root / name).write_text("x")
    (repo.root / "README").write_text("changed\n")
    with open_exported_tree(repo.git, commit) as folder:
        there = Path(folder)
        assert (there / "README").read_text() == "x\n"
        assert (there / "node_modules").is_symlink()
        assert (there / "build/out").exists()
        assert not (there / "build").is_symlink()  # what a check writes there is not the user's
        assert not (there / "__pycache__").exists()
    assert not os.path.exists(folder)
    assert repo.run("worktree", "list").count("\n") == 0


def test_what_a_killed_process_left_is_removed_and_nothing_else(repo: RepositoryFixture, tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = Path(tempfile.gettempdir(), f"ralph-{gone.pid}-{tmp_path.name[-8:]}", "repo")
    others = Path(tmp_path, f"ralph-{gone.pid}-elsewhere", "repo")
    for folder in (left, others):
        repo.run("worktree", "add", "--quiet", "--detach", str(folder))
    with open_exported_tree(repo.git, "HEAD") as mine:
        remove_abandoned_exports(repo.git, str(repo.root / ".git"))
        assert [os.path.exists(path) for path in (left.parent, others, mine)] == [False, True, True]
