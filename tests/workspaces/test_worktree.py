"""Work trees with real git: work is found again, kept, and never removed before it has landed."""

import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.model.errors import MachineError
from ralph.workspaces.worktree import Worktree
from support.repository import GIT_USER_CONFIG, RepositoryFixture, open_repository


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[RepositoryFixture]:
    with open_repository(tmp_path) as made:
        yield made


def test_a_task_gets_a_work_tree_and_a_branch_of_its_own(repo: RepositoryFixture) -> None:
    tree = repo.open()
    assert tree.folder == str(repo.root / ".ralph/worktrees/TASK-001")
    assert repo.run("branch", "--show-current", at=tree.folder) == "ralph/TASK-001"
    assert tree.base == repo.run("rev-parse", "main")
    assert repo.run("status", "--porcelain") == ""  # the user's own tree does not see it


def test_git_is_told_once_not_to_look(repo: RepositoryFixture) -> None:
    repo.open("A")
    repo.open("B")
    assert (repo.root / ".git/info/exclude").read_text().count("/.ralph/worktrees/") == 1
    assert not (repo.root / ".gitignore").exists()


def test_its_earlier_work_is_found_again(repo: RepositoryFixture) -> None:  # 000-24
    tree = repo.open()
    commit = repo.commit("a.txt", "a\n", at=tree.folder)
    (Path(tree.folder) / "b.txt").write_text("not committed\n")
    repo.commit("other.txt", "o\n")
    again = repo.open()
    assert (again.folder, again.base) == (tree.folder, tree.base)
    assert repo.run("rev-parse", "HEAD", at=again.folder) == commit
    assert (Path(again.folder) / "b.txt").exists()


def test_a_branch_whose_work_tree_is_gone_gets_another(repo: RepositoryFixture) -> None:
    tree = repo.open()
    commit = repo.commit("a.txt", "a\n", at=tree.folder)
    repo.run("worktree", "remove", tree.folder)
    assert repo.run("rev-parse", "HEAD", at=repo.open().folder) == commit


def test_one_without_work_of_its_own_begins_at_the_target_of_today(repo: RepositoryFixture) -> None:
    repo.open()
    head = repo.commit("other.txt", "o\n")
    again = repo.open()
    assert again.base == head
    assert (Path(again.folder) / "other.txt").exists()


def test_a_folder_that_is_no_work_tree_is_not_taken_for_one(repo: RepositoryFixture) -> None:
    folder = repo.root / ".ralph/worktrees/TASK-001"
    folder.mkdir(parents=True)
    (folder / "mine.txt").write_text("the user's\n")
    with pytest.raises(MachineError, match="worktree add"):
        repo.open()
    assert repo.run("branch", "--show-current") == "main"
    assert (folder / "mine.txt").exists()


def test_what_an_agent_left_lying_about_is_committed(repo: RepositoryFixture) -> None:
    tree = repo.open()
    (Path(tree.folder) / "a.txt").write_text("a\n")
    assert repo.trees.commit_leftovers(tree, "ralph: TASK-001") == ""
    assert repo.run("log", "-1", "--format=%s", tree.branch) == "ralph: TASK-001"
    assert repo.run("show", f"{tree.branch}:a.txt") == "a"
    head = repo.run("rev-parse", tree.branch)
    assert repo.trees.commit_leftovers(tree, "again") == ""
    assert repo.run("rev-parse", tree.branch) == head


def test_the_users_hooks_are_not_for_our_housekeeping(repo: RepositoryFixture) -> None:
    hook = repo.root / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    tree = repo.open()
    (Path(tree.folder) / "a.txt").write_text("a\n")
    assert repo.trees.commit_leftovers(tree, "kept") == ""
    assert repo.run("log", "-1", "--format=%s", tree.branch) == "kept"


def test_without_a_name_we_commit_under_our_own(tmp_path: Path) -> None:
    with open_repository(tmp_path, "[user]\nuseConfigOnly = true\n") as repo:
        tree = repo.open()
        (Path(tree.folder) / "a.txt").write_text("a\n")
        assert repo.trees.commit_leftovers(tree, "kept") == ""
        assert repo.run("log", "-1", "--format=%an <%ae>", tree.branch) == "ralph <ralph>"


def test_a_name_the_user_has_is_used(repo: RepositoryFixture) -> None:
    tree = repo.open()
    (Path(tree.folder) / "a.txt").write_text("a\n")
    repo.trees.commit_leftovers(tree, "kept")
    assert repo.run("log", "-1", "--format=%an", tree.branch) == "t"


def test_work_on_a_branch_of_the_agents_own_comes_home(repo: RepositoryFixture) -> None:
    tree = repo.open()
    repo.run("checkout", "-qb", "feature/mine", at=tree.folder)
    commit = repo.commit("a.txt", "a\n", at=tree.folder)
    assert repo.trees.commit_leftovers(tree, "kept") == ""
    assert repo.run("rev-parse", tree.branch) == commit


def test_a_branch_that_went_another_way_is_told(repo: RepositoryFixture) -> None:
    tree = repo.open()
    repo.commit("a.txt", "a\n", at=tree.folder)
    repo.run("checkout", "-qb", "elsewhere", "main", at=tree.folder)
    assert repo.trees.commit_leftovers(tree, "kept") == (
        "its work tree is on elsewhere, which lacks what ralph/TASK-001 has"
    )


def test_an_unresolved_merge_is_told_not_committed(repo: RepositoryFixture) -> None:
    tree = repo.open()
    head = repo.commit("a.txt", "theirs\n", at=tree.folder)
    repo.commit("a.txt", "ours\n")
    with pytest.raises(AssertionError):
        repo.run("merge", "-q", "main", at=tree.folder)
    assert repo.trees.commit_leftovers(tree, "kept") == "a merge in its work tree is not resolved: a.txt"
    assert repo.run("rev-parse", tree.branch) == head


def test_a_resolved_merge_is_concluded(repo: RepositoryFixture) -> None:
    tree = repo.open()
    repo.commit("a.txt", "theirs\n", at=tree.folder)
    main = repo.commit("a.txt", "ours\n")
    with pytest.raises(AssertionError):
        repo.run("merge", "-q", "main", at=tree.folder)
    (Path(tree.folder) / "a.txt").write_text("theirs\n")
    repo.run("add", "a.txt", at=tree.folder)
    assert repo.trees.commit_leftovers(tree, "kept") == ""
    assert repo.git.contains(tree.branch, main)


def test_what_has_landed_is_removed_with_its_branch(repo: RepositoryFixture) -> None:
    tree = repo.open()
    repo.commit("a.txt", "a\n", at=tree.folder)
    repo.run("merge", "-q", tree.branch)
    assert repo.trees.remove_if_landed(tree)
    assert not os.path.exists(tree.folder)
    assert repo.run("branch", "--list", "ralph/*") == ""


@pytest.mark.parametrize("what", ["committed", "changed", "new", "detached"])
def test_a_work_tree_with_unlanded_work_is_never_removed(repo: RepositoryFixture, what: str) -> None:
    tree = repo.open()
    match what:
        case "committed":
            repo.commit("a.txt", "a\n", at=tree.folder)
        case "changed":
            (Path(tree.folder) / "README").write_text("changed\n")
        case "new":
            (Path(tree.folder) / "a.txt").write_text("a\n")
        case _:
            repo.run("checkout", "-q", "--detach", at=tree.folder)
            repo.commit("a.txt", "a\n", at=tree.folder)
    assert not repo.trees.remove_if_landed(tree)
    assert os.path.isdir(tree.folder)
    assert "ralph/TASK-001" in repo.run("branch", "--list", "ralph/*")


def test_new_files_count_even_where_the_user_hides_them(tmp_path: Path) -> None:
    with open_repository(tmp_path, GIT_USER_CONFIG + "[status]\nshowUntrackedFiles = no\n") as repo:
        tree = repo.open()
        (Path(tree.folder) / "a.txt").write_text("a\n")
        assert not repo.trees.remove_if_landed(tree)


def test_the_hash_of_a_tree_follows_every_file(repo: RepositoryFixture) -> None:
    tree, index = repo.open(), str(repo.scratch / "index")
    here, file = repo.git.in_folder(tree.folder), Path(tree.folder) / "a.txt"
    seen = [here.hash_tree(index)]
    for text in ("one\n", "two\n"):
        file.write_text(text)
        seen.append(here.hash_tree(index))
    assert len(set(seen)) == 3
    file.unlink()
    assert here.hash_tree(index) == seen[0] == repo.run("rev-parse", "main^{tree}")
    assert repo.run("status", "--porcelain", at=tree.folder) == ""  # nothing of it shows


def test_work_trees_come_and_go_one_at_a_time(repo: RepositoryFixture) -> None:
    """Git removes a folder of its own that another git is about to use."""
    made: list[Worktree] = []
    maker = threading.Thread(target=lambda: made.append(repo.open()))
    turn = os.open(repo.root, os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)  # another task, or another ralph, is at it
    maker.start()
    maker.join(0.5)
    assert maker.is_alive()
    assert not (repo.root / ".ralph/worktrees/TASK-001").exists()
    os.close(turn)
    maker.join(20)
    assert [tree.branch for tree in made] == ["ralph/TASK-001"]


def private(repo: RepositoryFixture, task: str = "TASK-001") -> Path:
    """Where git keeps what is that work tree's own."""
    return repo.root / ".git/worktrees" / task


def test_one_whose_making_was_cut_off_is_made_anew(repo: RepositoryFixture) -> None:
    tree = repo.open()
    (private(repo) / "locked").write_text("initializing")  # as git leaves it when it is killed
    (Path(tree.folder) / "README").unlink()
    again = repo.open()
    assert (Path(again.folder) / "README").exists()
    assert repo.run("status", "--porcelain", at=again.folder) == ""
    assert not (private(repo) / "locked").exists()


def test_one_that_somebody_locked_is_left_alone(repo: RepositoryFixture) -> None:
    tree = repo.open()
    repo.run("worktree", "lock", "--reason", "mine", tree.folder)
    (Path(tree.folder) / "a.txt").write_text("a\n")
    repo.open()
    assert (Path(tree.folder) / "a.txt").exists()


def test_the_lock_of_a_git_that_was_killed_is_no_obstacle(repo: RepositoryFixture) -> None:
    tree = repo.open()
    (Path(tree.folder) / "a.txt").write_text("a\n")
    (private(repo) / "index.lock").touch()
    assert repo.trees.commit_leftovers(tree, "kept") == ""
    assert repo.run("show", f"{tree.branch}:a.txt") == "a"


def test_a_branch_of_long_ago_begins_at_the_target_of_today(repo: RepositoryFixture) -> None:
    repo.run("branch", "ralph/TASK-001")
    head = repo.commit("other.txt", "o\n")
    assert repo.open().base == head


def test_what_has_changed_shows_new_files_too(repo: RepositoryFixture) -> None:
    tree, index = repo.open(), str(repo.scratch / "index")
    repo.commit("a.txt", "committed\n", at=tree.folder)
    (Path(tree.folder) / "b.txt").write_text("left lying about\n")
    shown = repo.git.in_folder(tree.folder).diff(tree.base, index)
    assert "+committed" in shown
    assert "+left lying about" in shown
    assert repo.run("status", "--porcelain", at=tree.folder) == "?? b.txt"


def test_drafts_of_files_that_are_written_are_not_told_by_git(repo: RepositoryFixture) -> None:
    tree = repo.open()
    for folder in (Path(tree.folder), repo.root):
        (folder / ".ralph-draft-0a1b2c3d").write_text("half")
        assert repo.run("status", "--porcelain", at=folder) == ""
