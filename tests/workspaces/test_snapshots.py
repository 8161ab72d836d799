"""The work tree, kept around agent runs: whatever an agent does to it, what was there can be had again."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.workspaces import snapshots
from ralph.workspaces.snapshots import Snapshots, TreeStatus, parse_status
from support.repository import RepositoryFixture, open_repository

RUN = "20261116-010203-abcd"
REF = f"refs/ralph/{RUN}"


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[RepositoryFixture]:
    with open_repository(tmp_path) as made:
        yield made


def kept_by(repo: RepositoryFixture, run: str = RUN) -> Snapshots:
    return Snapshots(repo.git, run, str(repo.scratch / run))


def titles(repo: RepositoryFixture, ref: str = REF) -> list[str]:
    lines = repo.run("log", "--first-parent", "--format=%s", ref).splitlines()
    return [line.removeprefix(f"ralph {RUN}: ") for line in lines if line.startswith("ralph ")]


def files(repo: RepositoryFixture, commit: str = REF) -> list[str]:
    return repo.run("ls-tree", "-r", "--name-only", commit).splitlines()


def test_what_is_not_committed_survives_the_first_agent(repo: RepositoryFixture) -> None:
    (repo.root / "README").write_text("my own words\n")
    (repo.root / "new").write_text("of mine\n")
    keep = kept_by(repo)
    assert keep.save_initial_tree() == ""
    repo.run("reset", "--hard")
    repo.run("clean", "-fdx")
    repo.run("restore", f"--source={REF}", "--", ".")
    assert (repo.root / "README").read_text() == "my own words\n"
    assert (repo.root / "new").read_text() == "of mine\n"


def test_a_clean_tree_needs_no_snapshot(repo: RepositoryFixture) -> None:
    keep = kept_by(repo)
    assert (keep.save_initial_tree(), keep.save_tree_after(1)) == ("", "")
    assert repo.run("for-each-ref", "refs/ralph") == ""


def test_every_agents_work_hangs_together_newest_first(repo: RepositoryFixture) -> None:
    keep = kept_by(repo)
    keep.save_initial_tree()
    for number in (1, 2, 3):
        (repo.root / f"{number}").write_text("x")
        keep.save_tree_after(number)
        keep.save_tree_after(number)  # nothing new: nothing kept
    repo.run("clean", "-fdx")
    keep.save_tree_after(4)
    assert titles(repo) == [f"after iteration {number}" for number in (4, 3, 2, 1)]
    assert files(repo, f"{REF}~1") == ["1", "2", "3", "README"]
    assert files(repo) == ["README"]


def test_commits_an_agent_makes_and_drops_are_kept(repo: RepositoryFixture) -> None:
    keep = kept_by(repo)
    keep.save_initial_tree()
    made = repo.commit("a", "a\n")
    keep.save_tree_after(1)
    repo.run("reset", "--hard", "HEAD~1")
    keep.save_tree_after(2)
    assert titles(repo) == ["after iteration 2", "after iteration 1"]
    repo.run("merge-base", "--is-ancestor", made, REF)


def test_another_life_of_a_run_goes_on_with_its_snapshots(repo: RepositoryFixture) -> None:
    for number in (1, 2):
        (repo.root / f"{number}").write_text("x")
        keep = kept_by(repo)
        keep.save_initial_tree()
        (repo.root / f"{number}").write_text("y")
        keep.save_tree_after(number)
    assert titles(repo) == [
        "after iteration 2",
        "before the first agent",
        "after iteration 1",
        "before the first agent",
    ]


def test_the_users_index_and_branches_stay_as_they_are(repo: RepositoryFixture) -> None:
    (repo.root / "staged").write_text("x")
    repo.run("add", "staged")
    (repo.root / "new").write_text("x")
    before = repo.run("status", "--porcelain", "--branch")
    index = (repo.root / ".git/index").read_bytes()
    kept_by(repo).save_initial_tree()
    assert repo.run("status", "--porcelain", "--branch") == before
    assert (repo.root / ".git/index").read_bytes() == index
    assert files(repo) == ["README", "new", "staged"]


def test_ignored_files_and_our_own_logs_are_not_kept(repo: RepositoryFixture) -> None:
    repo.commit(".gitignore", "*.tmp\n")
    (repo.root / ".ralph").mkdir()
    for name in ("a.tmp", ".ralph/guardrail_001_true.log", ".ralph/prompt_001.txt"):
        (repo.root / name).write_text("x")
    keep = kept_by(repo)
    keep.save_initial_tree()
    assert repo.run("for-each-ref", "refs/ralph") == ""
    (repo.root / ".ralph/settings.json").write_text("{}")
    keep.save_tree_after(1)
    assert files(repo) == [".gitignore", ".ralph/settings.json", "README"]


def test_before_the_first_commit(tmp_path: Path) -> None:
    with open_repository(tmp_path) as repo:
        repo.run("update-ref", "-d", "HEAD")
        repo.run("rm", "-q", "--cached", "README")
        keep = kept_by(repo)
        assert keep.save_initial_tree() == ""
        assert files(repo) == ["README"]


def test_what_might_fill_the_disk_is_left_out_and_told_once(
    repo: RepositoryFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MAX_NEW_FILE_BYTES", 1 << 20)
    (repo.root / "large [1]*.bin").write_bytes(bytes(2 << 20))
    (repo.root / "small").write_text("x")
    keep = kept_by(repo)
    assert keep.save_initial_tree() == "large [1]*.bin (2 MB)"
    (repo.root / "small").write_text("y")
    assert keep.save_tree_after(1) == ""
    assert files(repo) == ["README", "small"]
    assert titles(repo) == ["after iteration 1", "before the first agent"]


def test_too_much_is_left_out_altogether(repo: RepositoryFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_NEW_FILES_BYTES", 1000)
    monkeypatch.setattr(snapshots, "MAX_EXCLUDED_FILES", 3)
    for number in range(5):
        (repo.root / f"new{number}").write_bytes(bytes(300))
    (repo.root / "README").write_text("changed\n")
    assert "all new files" in kept_by(repo).save_initial_tree()
    assert files(repo) == ["README"]
    assert repo.run("show", f"{REF}:README") == "changed"


def test_a_repository_inside_the_repository_is_told_of(repo: RepositoryFixture) -> None:
    inner = repo.root / "inner"
    inner.mkdir()
    repo.run("init", "-q", at=inner)
    (inner / "a").write_text("x")
    (repo.root / "new").write_text("x")
    assert kept_by(repo).save_initial_tree() == "inner/ (a repository of its own)"
    assert files(repo) == ["README", "new"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_does_not_cost_the_others(repo: RepositoryFixture) -> None:
    (repo.root / "locked").write_text("x")
    (repo.root / "locked").chmod(0)
    (repo.root / "new").write_text("x")
    assert "locked" in kept_by(repo).save_initial_tree()
    assert files(repo) == ["README", "new"]


def test_a_git_that_was_stopped_half_way_is_no_obstacle(repo: RepositoryFixture) -> None:
    (repo.root / "new").write_text("x")
    (repo.scratch / f"{RUN}.lock").touch()
    assert kept_by(repo).save_initial_tree() == ""
    assert files(repo) == ["README", "new"]


def test_hooks_and_signing_of_the_user_are_not_asked(repo: RepositoryFixture) -> None:
    for name in ("pre-commit", "reference-transaction", "post-index-change"):
        hook = repo.root / ".git/hooks" / name
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
    repo.run("config", "commit.gpgsign", "true")
    (repo.root / "new").write_text("x")
    assert kept_by(repo).save_initial_tree() == ""
    assert files(repo) == ["README", "new"]


def test_a_broken_repository_is_told_of_and_nothing_else(repo: RepositoryFixture) -> None:
    keep = kept_by(repo)
    (repo.root / ".git/HEAD").write_text("gone\n")
    assert "not a git repository" in keep.save_initial_tree()
    assert keep.save_tree_after(1) == ""


def test_snapshots_are_forgotten_after_a_month(repo: RepositoryFixture) -> None:
    for run in ("20200101-000000-aaaa", RUN):
        repo.run("update-ref", f"refs/ralph/{run}", "HEAD")
    (repo.root / "new").write_text("x")
    kept_by(repo, "29990101-000000-bbbb").save_initial_tree()
    assert "20200101" not in repo.run("for-each-ref", "refs/ralph")
    assert RUN in repo.run("for-each-ref", "refs/ralph")


def test_in_a_linked_work_tree(repo: RepositoryFixture) -> None:
    tree = repo.open()
    (Path(tree.folder) / "new").write_text("x")
    Snapshots(repo.git.in_folder(tree.folder), RUN, str(repo.scratch / "index")).save_initial_tree()
    assert files(repo) == ["README", "new"]
    assert repo.run("status", "--porcelain") == ""


def test_status_is_read_whatever_files_are_called() -> None:
    told = "# branch.oid abc\0# branch.head main\0? a b\0? # c\0? x/.ralph/y.log\0"
    assert parse_status(told) == TreeStatus("abc", False, ("a b", "# c"))
    assert parse_status("# branch.oid (initial)\0") == TreeStatus()
    assert parse_status("1 .M N... 100644 100644 100644 a b c\0").changed
