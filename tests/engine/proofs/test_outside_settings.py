"""Settings outside the tree that steer a check."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from ralph.core.proofs.check_rules import resolve_check
from ralph.engine.proofs.outside_settings import find_changed_above, find_changed_git_settings, find_changed_home_files
from ralph.model.proofs import WorkTime
from support.repository import RepositoryFixture, open_repository

OLD, NEW = WorkTime(since=time.time() + 3600), WorkTime(since=0.0)


class NoFiles:
    def read(self, path: str) -> str | None:
        return None

    def find(self, pattern: str) -> list[str]:
        return []


def find_above(root: Path, command: str, since: WorkTime = NEW) -> list[str]:
    return [each.path for each in find_changed_above([resolve_check(command, NoFiles())], root=str(root), since=since)]


@pytest.mark.parametrize(
    ("command", "name", "found"),
    [
        ("pytest", "pytest.ini", True),
        ("cargo test", ".cargo/config.toml", True),
        ("ruff check .", "ruff.toml", True),
        ("pytest", "ruff.toml", False),
        ("python3 -m unittest", "pytest.ini", False),
    ],
)
def test_configuration_above_the_tree_counts_if_it_came_since(
    tmp_path: Path, command: str, name: str, found: bool
) -> None:
    root, place = tmp_path / "a/b/repo", tmp_path / "a" / name
    root.mkdir(parents=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("x")
    assert [path for path in find_above(root, command) if path.startswith(str(tmp_path))] == (
        [str(place)] if found else []
    )
    assert find_above(root, command, OLD) == []


def test_a_file_above_that_says_nothing_to_the_runner_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    place = tmp_path / "pyproject.toml"
    place.write_text("[project]\nname = 'other'\n")
    assert find_above(tmp_path / "repo", "pytest") == []
    place.write_text("[tool.pytest.ini_options]\naddopts = '-k sub'\n")
    assert find_above(tmp_path / "repo", "pytest") == [str(place)]


def test_nobody_waits_for_a_pipe_above_the_tree(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    os.mkfifo(tmp_path / "pytest.ini")
    assert find_above(tmp_path / "repo", "pytest") == []


@pytest.mark.parametrize(
    ("command", "name", "found"),
    [
        ("npm test", ".npmrc", True),
        ("bash -lc 'sh check.sh'", ".bash_profile", True),
        ("bash -c 'sh check.sh'", ".bash_profile", False),
        ("cargo test", ".cargo/config.toml", True),
        ("/usr/local/bin/npm test", ".npmrc", True),
        ("mypy calc.py", ".mypy.ini", True),
        ("ruff check .", ".config/ruff/ruff.toml", True),
        ("sh gen.sh && git diff --exit-code", ".gitconfig", True),
        ("pytest", ".gitconfig", False),
        ("pytest", ".npmrc", False),
    ],
)
def test_settings_in_the_home_folder_that_steer_a_check_are_found(
    tmp_path: Path, command: str, name: str, found: bool
) -> None:
    place = tmp_path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("x")
    rules = [resolve_check(command, NoFiles())]

    home = {"HOME": str(tmp_path)}
    changes = [*find_changed_home_files(rules, environment=home, since=NEW)]
    assert [change.path for change in changes if change.is_suspect] == ([f"~/{name}"] if found else [])
    reasons = {(change.kind, change.reason, change.check) for change in changes}
    assert reasons <= {("changed", "steers the check from your home folder", command)}
    assert [*find_changed_home_files(rules, environment=home, since=OLD)] == []
    assert [*find_changed_home_files(rules, environment={}, since=NEW)] == []


def test_what_steers_a_check_from_above_is_told_with_its_check(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -k sub\n")
    found = find_changed_above([resolve_check("pytest", NoFiles())], root=str(tmp_path / "repo"), since=NEW)
    assert [(each.check, each.reason) for each in found if each.path.startswith(str(tmp_path))] == [
        ("pytest", "steers the check from a folder above")
    ]


def test_the_repository_around_a_work_tree_is_not_above_it(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-C", str(repo)]
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", ".ralph/worktrees/T1"], check=True, capture_output=True)
    (repo / "pytest.ini").write_text("x")
    (tmp_path / "pytest.ini").write_text("x")
    found = find_above(repo / ".ralph/worktrees/T1", "pytest")
    assert [path for path in found if path.startswith(str(tmp_path))] == [str(tmp_path / "pytest.ini")]


@pytest.fixture
def repo(tmp_path: Path) -> RepositoryFixture:
    with open_repository(tmp_path) as made:
        made.commit("out.txt", "right\n")
        return made


def find_git(repo: RepositoryFixture, command: str) -> list[tuple[str, bool]]:
    rules = [resolve_check(command, NoFiles())]
    start = WorkTime(since=time.time() - 60)
    return [(each.path, each.is_suspect) for each in find_changed_git_settings(rules, root=str(repo.root), since=start)]


ASKS_GIT = "sh gen.sh && git diff --exit-code -- out.txt"


def test_a_check_that_asks_git_rests_on_its_settings(repo: RepositoryFixture) -> None:
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/attributes").write_text("out.txt filter=q\n")
    assert (".git/info/attributes", True) in find_git(repo, ASKS_GIT)
    assert find_git(repo, "pytest") == []
    found = find_changed_git_settings([resolve_check(ASKS_GIT, NoFiles())], root=str(repo.root), since=NEW)
    assert (ASKS_GIT, "tells git what to leave out") in [(each.check, each.reason) for each in found]


@pytest.mark.parametrize("option", ["--assume-unchanged", "--skip-worktree"])
def test_an_index_that_hides_a_file_is_named_to_who_asks_git(repo: RepositoryFixture, option: str) -> None:
    assert (".git/index", False) not in find_git(repo, ASKS_GIT)
    repo.run("update-index", option, "out.txt")
    assert (".git/index", False) in find_git(repo, ASKS_GIT)
    assert find_git(repo, "pytest") == []
    assert (".git/index", False) not in find_git(repo, "ruff check ."), "it asks git only what to leave out"


@pytest.mark.parametrize("option", ["--assume-unchanged", "--skip-worktree"])
@pytest.mark.parametrize("length", range(1, 10))
def test_a_hidden_file_is_found_behind_others_of_any_length(repo: RepositoryFixture, option: str, length: int) -> None:
    (repo.root / ("a" * length)).write_text("x")
    (repo.root / "intended").write_text("x")
    repo.run("add", "a" * length)
    repo.run("add", "-N", "intended")
    assert (".git/index", False) not in find_git(repo, ASKS_GIT), "one that is to be added is not hidden"
    repo.run("update-index", option, "out.txt")
    found = find_changed_git_settings([resolve_check(ASKS_GIT, NoFiles())], root=str(repo.root), since=OLD)
    assert [(each.path, each.kind, each.reason) for each in found] == [
        (".git/index", "doubtful", "has git take out.txt for unchanged")
    ]


@pytest.mark.parametrize("content", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\7", b"DIRC\0\0\0\4\0\0\0\1" + b"\xff" * 99])
def test_an_index_that_nobody_can_read_hides_nothing(repo: RepositoryFixture, content: bytes) -> None:
    (repo.root / ".git/index").write_bytes(content)
    assert (".git/index", False) not in find_git(repo, ASKS_GIT)


def test_what_git_leaves_out_some_linters_leave_out_too(repo: RepositoryFixture) -> None:
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/exclude").write_text("calc.py\n")
    assert find_git(repo, "ruff check .") == [(".git/info/exclude", True)]
    assert find_git(repo, "mypy .") == []
