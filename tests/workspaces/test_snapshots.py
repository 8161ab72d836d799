"""The work tree, kept around agent runs: whatever an agent does to it, what was there can be had again."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ralph.model.errors import DiskError, MachineError
from ralph.model.proofs import TreeChange
from ralph.workspaces import new_file_limits
from ralph.workspaces.snapshots import Snapshots
from support.repository import RepositoryFixture, open_repository

RUN = "20261116-010203-abcd"
REF = f"refs/ralph/{RUN}"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[RepositoryFixture]:
    with open_repository(tmp_path) as made:
        yield made


def titles(repo: RepositoryFixture, ref: str = REF) -> list[str]:
    lines = repo.run_own("log", "--first-parent", "--format=%s", ref).splitlines()
    return [line.removeprefix(f"ralph {RUN}: ") for line in lines]


def files(repo: RepositoryFixture, commit: str = REF) -> list[str]:
    return repo.run_own("ls-tree", "-r", "--name-only", commit).splitlines()


def changes(keep: Snapshots) -> list[tuple[str, str]]:
    """Of what is there now, against the start: path, and what happened to it."""
    kinds = {(True, True): "changed", (False, True): "added", (True, False): "deleted"}
    found = keep.list_changes(keep.baseline(), keep.tree())
    return [(each.path, kinds[bool(each.old_blob), bool(each.new_blob)]) for each in found]


def test_what_is_not_committed_survives_the_first_agent(repo: RepositoryFixture) -> None:
    (repo.root / "README").write_text("my own words\n")
    (repo.root / "new").write_text("of mine\n")
    keep = repo.keeper(RUN)
    assert keep.save_initial_tree() == ""
    repo.run("reset", "--hard")
    repo.run("clean", "-fdx")
    repo.run_own("restore", f"--source={REF}", "--", ".")
    assert (repo.root / "README").read_text() == "my own words\n"
    assert (repo.root / "new").read_text() == "of mine\n"


def test_the_project_is_given_a_ref_and_nothing_else(repo: RepositoryFixture) -> None:
    before = repo.run("count-objects")
    (repo.root / "new").write_text("x")
    repo.keeper(RUN).save_initial_tree()
    head = repo.run("rev-parse", "HEAD")
    assert repo.run("for-each-ref", "--format=%(refname)", "refs/ralph") == f"refs/ralph/pinned/{head}"
    assert repo.run("count-objects") == before


def test_every_agents_work_hangs_together_newest_first(repo: RepositoryFixture) -> None:
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    for number in (1, 2, 3):
        (repo.root / f"{number}").write_text("x")
        keep.save_tree_after(number)
        keep.save_tree_after(number)  # nothing new: nothing kept
    repo.run("clean", "-fdx")
    keep.save_tree_after(4)
    assert titles(repo) == [*(f"after iteration {number}" for number in (4, 3, 2, 1)), "before the first agent"]
    assert files(repo, f"{REF}~1") == ["1", "2", "3", "README"]
    assert files(repo) == ["README"]


def test_commits_an_agent_makes_and_drops_survive_gits_own_clean_up(repo: RepositoryFixture) -> None:
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    made = repo.commit("a", "a\n")
    keep.save_tree_after(1)
    repo.run("reset", "--hard", "HEAD~1")
    keep.save_tree_after(2)
    assert titles(repo) == ["after iteration 2", "after iteration 1", "before the first agent"]
    repo.run("reflog", "expire", "--expire=now", "--all")
    repo.run("gc", "-q", "--prune=now")
    assert repo.run("show", f"{made}:a") == "a"


def test_snapshots_outlive_what_the_project_throws_away(repo: RepositoryFixture) -> None:
    (repo.root / "staged").write_text("only in the index\n")
    repo.run("add", "staged")
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    repo.run("rm", "-qf", "staged")
    repo.run("checkout", "-q", "--orphan", "another")
    repo.run("branch", "-D", "main")
    repo.run("reflog", "expire", "--expire=now", "--all")
    repo.run("gc", "-q", "--prune=now")
    assert repo.run_own("show", f"{REF}:staged") == "only in the index"
    assert repo.run_own("show", f"{REF}:README") == "x"


def test_another_life_of_a_run_goes_on_with_its_snapshots_and_its_baseline(repo: RepositoryFixture) -> None:
    for number in (1, 2):
        (repo.root / f"{number}").write_text("x")
        keep = repo.keeper(RUN)
        keep.save_initial_tree()
        (repo.root / f"{number}").write_text("y")
        keep.save_tree_after(number)
    assert titles(repo) == [
        "after iteration 2",
        "before the first agent",
        "after iteration 1",
        "before the first agent",
    ]
    assert changes(keep) == [("1", "changed"), ("2", "added")]


def test_a_life_that_begins_where_the_last_ended_keeps_nothing_twice(repo: RepositoryFixture) -> None:
    for _ in range(2):
        keep = repo.keeper(RUN)
        keep.save_initial_tree()
        (repo.root / "new").write_text("x")
        keep.save_tree_after(1)
    assert titles(repo) == ["after iteration 1", "before the first agent"]


def test_the_users_index_and_branches_stay_as_they_are(repo: RepositoryFixture) -> None:
    (repo.root / "staged").write_text("x")
    repo.run("add", "staged")
    (repo.root / "new").write_text("x")
    before = repo.run("status", "--porcelain", "--branch")
    index = (repo.root / ".git/index").read_bytes()
    repo.keeper(RUN).save_initial_tree()
    assert repo.run("status", "--porcelain", "--branch") == before
    assert (repo.root / ".git/index").read_bytes() == index
    assert files(repo) == ["README", "new", "staged"]


def test_before_the_first_commit(repo: RepositoryFixture) -> None:
    repo.run("update-ref", "-d", "HEAD")
    repo.run("rm", "-q", "--cached", "README")
    assert repo.keeper(RUN).save_initial_tree() == ""
    assert files(repo) == ["README"]


def test_switched_off_nothing_is_kept_and_changes_are_known_all_the_same(repo: RepositoryFixture) -> None:
    keep = repo.keeper(RUN, keeps=False)
    keep.save_initial_tree()
    (repo.root / "README").write_text("y\n")
    keep.save_tree_after(1)
    assert changes(keep) == [("README", "changed")]
    assert repo.run_own("for-each-ref", "refs/ralph") == ""


def test_what_might_fill_the_disk_is_left_out_and_told_once(
    repo: RepositoryFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_file_limits, "MAX_NEW_FILE_BYTES", 1 << 20)
    (repo.root / "large [1]*.bin").write_bytes(bytes(2 << 20))
    (repo.root / "small").write_text("x")
    keep = repo.keeper(RUN)
    assert keep.save_initial_tree() == "large [1]*.bin (2 MB)"
    (repo.root / "small").write_text("y")
    assert keep.save_tree_after(1) == ""
    assert files(repo) == ["README", "small"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_does_not_cost_the_others(repo: RepositoryFixture) -> None:
    (repo.root / "locked").write_text("x")
    (repo.root / "locked").chmod(0)
    (repo.root / "new").write_text("x")
    assert "locked" in repo.keeper(RUN).save_initial_tree()
    assert files(repo) == ["README", "new"]


def test_in_a_broken_repository_the_files_are_kept(repo: RepositoryFixture) -> None:
    keep = repo.keeper(RUN)
    (repo.root / ".git/HEAD").write_text("gone\n")
    assert keep.save_initial_tree() == ""
    assert files(repo) == ["README"]


def test_without_a_start_there_is_no_baseline(repo: RepositoryFixture) -> None:
    keep = repo.keeper(RUN)
    moved = repo.root.parent / "moved"
    repo.root.rename(moved)
    assert keep.save_initial_tree() != ""
    moved.rename(repo.root)
    (repo.root / "README").write_text("what an agent made of it\n")
    keep.save_tree_after(1)
    assert keep.tree()
    assert keep.baseline() == ""


def test_snapshots_are_forgotten_after_a_month(repo: RepositoryFixture) -> None:
    repo.run("update-ref", "refs/ralph/20200101-000000-aaaa", "HEAD")  # of a version that kept them there
    repo.run("update-ref", f"refs/ralph/{RUN}", "HEAD")
    (repo.root / "old").write_text("of long ago\n")
    old = repo.keeper("20200101-000000-bbbb")
    old.save_initial_tree()
    blob = next(each.new_blob for each in old.list_changes(EMPTY_TREE, old.tree()) if each.path == "old")
    (repo.root / "old").unlink()
    for path in (repo.own_dir / "store").rglob("*"):
        os.utime(path, (0, 0))
    for mark in (repo.own_dir / "pinned").iterdir():
        os.utime(mark, (0, 0))
    os.utime(repo.own_dir / "cleaned", (0, 0))
    repo.commit("b", "b\n")
    keep = repo.keeper("29990101-000000-cccc")
    keep.save_initial_tree()
    assert "20200101" not in repo.run_own("for-each-ref") + repo.run("for-each-ref")
    assert RUN in repo.run("for-each-ref")
    assert len(repo.run("for-each-ref", "refs/ralph/pinned").splitlines()) == 1
    with pytest.raises(MachineError):
        keep.read_blob(blob)
    assert files(repo, "refs/ralph/29990101-000000-cccc") == ["README", "b"]


def test_snapshots_are_packed_once_a_day(repo: RepositoryFixture) -> None:
    run = "29990101-000000-aaaa"
    keep = repo.keeper(run)
    keep.save_initial_tree()
    for number in range(1, 6):
        (repo.root / "a").write_text(f"{number}\n")
        keep.save_tree_after(number)

    def count_loose() -> int:
        return len([*(repo.own_dir / "store").glob("[0-9a-f][0-9a-f]/*")])

    assert count_loose() >= 10
    os.utime(repo.own_dir / "cleaned", (0, 0))
    repo.keeper("29990101-000000-cccc").save_initial_tree()
    assert count_loose() <= 5  # what only this new run holds
    assert len([*(repo.own_dir / "store/pack").glob("*.pack")]) == 1
    assert len(titles(repo, f"refs/ralph/{run}")) == 6
    assert repo.run_own("show", f"refs/ralph/{run}:a") == "5"


def test_all_work_trees_of_a_repository_share_one_directory(repo: RepositoryFixture) -> None:
    tree = repo.open()
    (Path(tree.folder) / "new").write_text("x")
    repo.keeper("20261116-000000-0000").save_initial_tree()
    repo.keeper(RUN, tree.folder).save_initial_tree()
    assert files(repo) == ["README", "new"]
    assert repo.own_dir.stat().st_mode & 0o777 == 0o700
    assert repo.run("status", "--porcelain") == ""


def test_a_change_is_told_by_path_blob_and_mode(repo: RepositoryFixture) -> None:
    repo.commit("gone", "g\n")
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    (repo.root / "gone").unlink()
    (repo.root / "README").chmod(0o755)
    (repo.root / "né w\n").write_text("n\n")
    keep.save_tree_after(1)
    found = {each.path: each for each in keep.list_changes(keep.baseline(), keep.tree())}
    assert [*found] == ["README", "gone", "né w\n"]
    assert (found["README"].old_mode, found["README"].new_mode) == ("100644", "100755")
    assert found["gone"] == TreeChange(path="gone", old_blob=found["gone"].old_blob, old_mode="100644")
    assert keep.read_blob(found["gone"].old_blob) == b"g\n"
    assert keep.read_blob(found["né w\n"].new_blob) == b"n\n"


def test_a_diff_of_some_paths_has_no_others(repo: RepositoryFixture) -> None:
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    for name in ("README", "a*", "ab"):
        (repo.root / name).write_text("new line\n")
    keep.save_tree_after(1)
    assert keep.diff(keep.baseline(), keep.tree()).count("+new line") == 3
    told = keep.diff(keep.baseline(), keep.tree(), ["a*"])
    assert (told.count("+new line"), "a/ab" in told) == (1, False)


def test_outside_git_a_folder_is_looked_at_too(repo: RepositoryFixture) -> None:
    shutil.rmtree(repo.root / ".git")
    (repo.root / "node_modules").mkdir()
    (repo.root / "node_modules/x.js").write_text("x")
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    (repo.root / "README").write_text("y\n")
    keep.save_tree_after(1)
    assert changes(keep) == [("README", "changed")]
    assert keep.read_blob(keep.list_changes(keep.baseline(), keep.tree())[0].old_blob) == b"x\n"


# -- a disk that is full or broken -----------------------------------------------------------------
FULL = "No space left on device"


def fail(*args: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, FULL, "a file")


@pytest.mark.parametrize("name", ["replace", "makedirs"])
def test_what_cannot_be_kept_on_a_full_disk_stops_the_run(
    repo: RepositoryFixture, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    (repo.root / "new").write_text("x")
    with monkeypatch.context() as patch:
        patch.setattr(os, name, fail)
        with pytest.raises(DiskError, match=FULL):
            keep.save_tree_after(1)
    assert titles(repo) == ["before the first agent"]


def test_a_start_that_could_not_be_kept_is_kept_by_the_next_try(
    repo: RepositoryFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = repo.keeper(RUN)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(DiskError):
            keep.save_initial_tree()
    assert keep.save_initial_tree() == ""
    assert titles(repo) == ["before the first agent"]
    assert keep.baseline() == keep.tree() != ""


def test_a_first_look_that_finds_no_room_stops_the_run_too(
    repo: RepositoryFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = repo.keeper(RUN)
    with monkeypatch.context() as patch:
        patch.setattr(os, "makedirs", fail)
        with pytest.raises(DiskError, match=FULL):
            keep.save_initial_tree()
    assert keep.save_initial_tree() == ""


@pytest.mark.parametrize("number", range(1, 5))
@pytest.mark.parametrize("keeps", [True, False])
def test_wherever_a_life_ends_as_it_keeps_the_start_the_next_has_one(
    repo: RepositoryFixture, monkeypatch: pytest.MonkeyPatch, number: int, keeps: bool
) -> None:
    left, write = [number], os.replace

    def fail_once(source: str, target: str) -> None:
        left[0] -= 1
        write(source, target) if left[0] else fail()

    first = repo.keeper(RUN, keeps=keeps)
    with monkeypatch.context() as patch, suppress(DiskError):
        patch.setattr(os, "replace", fail_once)
        first.save_initial_tree()
    keep = repo.keeper(RUN, keeps=keeps)
    assert keep.save_initial_tree() == ""
    assert keep.baseline() == keep.tree() != ""


def test_a_look_after_the_start_stops_the_run_too(repo: RepositoryFixture) -> None:
    repo.break_git("", "")
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    (repo.root / "new").write_text("x")
    repo.break_git("update-index", f"fatal: unable to write loose object file: {FULL}")
    with pytest.raises(DiskError, match=FULL):
        keep.look()
    repo.break_git("", "")
    assert keep.look() != keep.baseline()


def test_of_an_agent_that_was_stopped_at_once_it_is_only_told(
    repo: RepositoryFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    (repo.root / "new").write_text("x")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        assert FULL in keep.save_cut_off_tree(1)


def test_another_failure_of_git_is_told_and_the_run_goes_on(repo: RepositoryFixture) -> None:
    repo.break_git("update-index", "fatal: the moon is full")
    keep = repo.keeper(RUN)
    (repo.root / "new").write_text("x")
    assert "the moon is full" in keep.save_initial_tree()


def test_a_start_elsewhere_is_not_taken_for_none_where_the_disk_is_full(repo: RepositoryFixture) -> None:
    """Else what the first agent had changed would count as the user's own."""
    commit = repo.run("rev-parse", "HEAD")
    repo.break_git("read-tree", f"fatal: sha1 file 'index.lock' write error. {FULL}")
    keep = repo.keeper(RUN)
    with pytest.raises(DiskError, match=FULL):
        keep.import_commit(commit)
    repo.break_git("read-tree", "fatal: not a tree object")
    assert keep.import_commit(commit) == ""


def test_which_work_of_an_earlier_run_is_left_is_not_guessed_where_the_disk_is_broken(repo: RepositoryFixture) -> None:
    repo.break_git("", "")
    first = repo.keeper(RUN)
    first.save_initial_tree()
    (repo.root / "left").write_text("x")
    first.save_tree_after(1)
    later = repo.keeper("20261117-010203-abcd", unfinished=(RUN,))
    (repo.root / "new").write_text("x")
    repo.break_git("diff-tree", "error: unable to read: Input/output error")
    with pytest.raises(DiskError):
        later.save_initial_tree()
    repo.break_git("", "")
    assert later.save_initial_tree() == ""
    assert changes(later) == [("left", "added")]


def test_drafts_of_files_that_are_written_are_in_no_tree(repo: RepositoryFixture) -> None:
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    (repo.root / "deep").mkdir()
    for name in (".ralph-draft-0a1b2c3d", "deep/.ralph-draft-0a1b2c3d", "deep/not.ralph-draft-x"):
        (repo.root / name).write_text("half")
    keep.save_tree_after(1)
    assert changes(keep) == [("deep/not.ralph-draft-x", "added")]
