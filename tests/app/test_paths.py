"""Where things of a repository lie, found without asking git."""

from pathlib import Path

import pytest

from ralph.app.paths import find_paths, list_commit_folders
from support.workshop import ProjectFixture


@pytest.fixture
def committed(workshop: ProjectFixture) -> ProjectFixture:
    (workshop.repo / "a.txt").write_text("a\n")
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Start")
    return workshop


def test_a_commit_writes_to_the_git_folder(committed: ProjectFixture) -> None:
    below = committed.repo / "below"
    below.mkdir()
    assert list_commit_folders(str(below)) == (f"{committed.repo}/.git",)


def test_a_commit_in_a_linked_work_tree_needs_neither_hooks_nor_settings(committed: ProjectFixture) -> None:
    git, tree = committed.repo / ".git", committed.home / "tree"
    committed.git("worktree", "add", "-q", "-b", "other", str(tree))
    folders = list_commit_folders(str(tree))
    assert folders == (f"{git}/worktrees/tree", f"{git}/objects", f"{git}/refs", f"{git}/logs")
    # what it writes is below these, and nowhere else
    before = {path for path in git.rglob("*") if not any(str(path).startswith(folder) for folder in folders)}
    stamps = {path: path.stat().st_mtime_ns for path in before}
    (tree / "b.txt").write_text("b\n")
    committed.git("-C", str(tree), "add", "-A")
    committed.git("-C", str(tree), "commit", "-qm", "More")
    after = {path for path in git.rglob("*") if not any(str(path).startswith(folder) for folder in folders)}
    assert {path: path.stat().st_mtime_ns for path in after} == stamps


def test_outside_git_nothing_is_committed(tmp_path: Path) -> None:
    assert not find_paths(str(tmp_path)).in_git
    assert list_commit_folders(str(tmp_path)) == ()
