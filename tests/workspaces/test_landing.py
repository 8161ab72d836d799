"""Landing with real git: the target moves to what was proven on the merged tree, or not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.workspaces.landing import LandingPlan, LandingResult, TreeCheck, land_branch
from ralph.workspaces.worktree import Worktree
from support.repository import RepositoryFixture, open_repository


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[RepositoryFixture]:
    with open_repository(tmp_path) as made:
        yield made


def worked(repo: RepositoryFixture, text: str = "a\n") -> Worktree:
    tree = repo.open()
    repo.commit("a.txt", text, at=tree.folder)
    return tree


def landed(repo: RepositoryFixture, tree: Worktree, fault: str = "") -> LandingResult:
    return land_verified(repo, tree, lambda folder: fault)


def land_verified(repo: RepositoryFixture, tree: Worktree, verify: TreeCheck) -> LandingResult:
    plan = LandingPlan(tree=tree, folder=str(repo.scratch / "landing"), message="Merge it", verify=verify)
    return land_branch(repo.git, plan)


def head(repo: RepositoryFixture) -> str:
    return repo.run("rev-parse", "main")


def test_a_target_that_has_not_moved_is_fast_forwarded(repo: RepositoryFixture) -> None:
    tree = worked(repo)
    commit = repo.run("rev-parse", tree.branch)
    assert landed(repo, tree) == LandingResult(done=True, commit=commit)
    assert head(repo) == commit
    assert (repo.root / "a.txt").read_text() == "a\n"  # the user's own tree follows
    assert repo.run("status", "--porcelain") == ""


def test_one_that_has_moved_gets_a_merge_commit(repo: RepositoryFixture) -> None:
    tree = worked(repo)
    other = repo.commit("b.txt", "b\n")
    assert landed(repo, tree).done
    assert repo.run("log", "-1", "--format=%s") == "Merge it"
    assert repo.git.contains("main", other)
    assert repo.git.contains("main", tree.branch)


def test_the_merged_tree_is_what_is_looked_at(repo: RepositoryFixture) -> None:
    tree = worked(repo)
    repo.commit("b.txt", "b\n")
    seen: list[set[str]] = []

    def look(folder: str) -> str:
        seen.append({path.name for path in Path(folder).iterdir()})
        return ""

    assert land_verified(repo, tree, look).done
    assert seen == [{".git", "README", "a.txt", "b.txt"}]
    assert "landing" not in repo.run("worktree", "list")


def test_a_red_merged_tree_leaves_the_target_untouched(repo: RepositoryFixture) -> None:
    tree = worked(repo)
    before = repo.commit("b.txt", "b\n")
    assert landed(repo, tree, "tests fail") == LandingResult(done=False, check_failure="tests fail")
    assert head(repo) == before
    assert not (repo.root / "a.txt").exists()
    assert "landing" not in repo.run("worktree", "list")


def test_a_conflict_is_told_by_its_files_and_nothing_moves(repo: RepositoryFixture) -> None:
    tree = worked(repo)
    before = repo.commit("a.txt", "other\n")
    assert landed(repo, tree) == LandingResult(done=False, conflict="a.txt", target=before)
    assert head(repo) == before
    assert repo.run("status", "--porcelain") == ""


def test_what_is_there_already_is_looked_at_as_well(repo: RepositoryFixture) -> None:
    tree = repo.open()
    before = repo.commit("b.txt", "b\n")
    assert landed(repo, tree, "b.txt breaks it") == LandingResult(done=False, check_failure="b.txt breaks it")
    assert landed(repo, tree) == LandingResult(done=True, commit=before, is_empty=True)
    assert head(repo) == before


def test_a_dirty_tree_of_the_users_that_is_not_concerned_is_no_obstacle(repo: RepositoryFixture) -> None:
    tree = worked(repo)
    (repo.root / "README").write_text("the user is at it\n")
    assert landed(repo, tree).done
    assert (repo.root / "README").read_text() == "the user is at it\n"


def test_one_that_is_concerned_keeps_its_work_and_the_branch(repo: RepositoryFixture) -> None:
    tree = worked(repo)
    before = head(repo)
    (repo.root / "a.txt").write_text("the user's own\n")
    found = landed(repo, tree)
    assert not found.done
    assert found.problem.startswith("main could not be moved: error: ")
    assert "a.txt" in found.problem
    assert head(repo) == before
    assert (repo.root / "a.txt").read_text() == "the user's own\n"


def test_a_target_nobody_has_checked_out_moves_too(repo: RepositoryFixture) -> None:
    tree = worked(repo)
    repo.run("checkout", "-qb", "elsewhere")
    assert landed(repo, tree).done
    assert repo.git.contains("main", tree.branch)
    assert not (repo.root / "a.txt").exists()


@pytest.mark.parametrize("checked_out", [True, False])
def test_who_moves_the_target_meanwhile_is_merged_with(repo: RepositoryFixture, checked_out: bool) -> None:
    tree = worked(repo)
    if not checked_out:
        repo.run("checkout", "-qb", "elsewhere")
        repo.run("worktree", "add", "-q", str(repo.scratch / "main"), "main")
    looks: list[str] = []

    def race(folder: str) -> str:
        looks.append(folder)
        if len(looks) == 1:
            repo.commit("b.txt", "b\n", at=repo.root if checked_out else repo.scratch / "main")
            if not checked_out:
                repo.run("worktree", "remove", str(repo.scratch / "main"))
        return ""

    assert land_verified(repo, tree, race).done
    assert len(looks) == 2  # what nobody has looked at does not land
    assert repo.run("ls-tree", "--name-only", "main").split() == ["README", "a.txt", "b.txt"]


def test_one_that_is_always_faster_wins(repo: RepositoryFixture) -> None:
    tree = worked(repo)
    count = iter(range(99))

    def race(folder: str) -> str:
        repo.commit("b.txt", f"{next(count)}\n")
        return ""

    found = land_verified(repo, tree, race)
    assert not found.done
    assert found.problem.startswith("main could not be moved")


def test_a_hook_that_does_not_want_the_merge_is_heard(repo: RepositoryFixture) -> None:
    hook = repo.root / ".git/hooks/pre-merge-commit"
    hook.write_text("#!/bin/sh\necho 'no merges on Fridays' >&2\nexit 1\n")
    hook.chmod(0o755)
    repo.git = repo.git.with_guard()
    tree = worked(repo)
    before = repo.commit("b.txt", "b\n")
    found = landed(repo, tree)
    assert "no merges on Fridays" in found.check_failure
    assert head(repo) == before


def test_without_a_name_we_merge_under_our_own(tmp_path: Path) -> None:
    with open_repository(tmp_path, "[user]\nuseConfigOnly = true\n") as repo:
        tree = repo.open()
        (Path(tree.folder) / "a.txt").write_text("a\n")
        repo.trees.commit_leftovers(tree, "kept")
        (repo.root / "b.txt").write_text("b\n")
        repo.run("add", "-A")
        repo.run("-c", "user.name=u", "-c", "user.email=u@localhost", "commit", "-qm", "b")
        assert landed(repo, tree).done
        assert repo.run("log", "-1", "--format=%an") == "ralph"


def test_a_target_that_is_gone_is_told(repo: RepositoryFixture) -> None:
    tree = worked(repo)
    repo.run("branch", "-qm", "main", "trunk")
    assert landed(repo, tree) == LandingResult(done=False, problem="there is no branch 'main'")


def test_tags_with_the_names_of_branches_mislead_nobody(repo: RepositoryFixture) -> None:
    repo.run("tag", "main")
    repo.run("tag", "ralph/TASK-001")
    second = repo.commit("b.txt", "b\n")
    tree = worked(repo)
    assert tree.base == second
    repo.run("tag", "--force", "main", tree.ref)  # as if it had landed
    assert not repo.trees.remove_if_landed(tree)
    assert landed(repo, tree).done
    assert repo.run("show", "refs/heads/main:a.txt") == "a"
    assert repo.trees.remove_if_landed(tree)


def test_the_users_changes_are_not_stashed_away(repo: RepositoryFixture) -> None:
    repo.run("config", "merge.autoStash", "true")
    tree = worked(repo, "theirs\n")
    (repo.root / "a.txt").write_text("the user's own\n")
    repo.run("add", "a.txt")
    assert not landed(repo, tree).done
    assert (repo.root / "a.txt").read_text() == "the user's own\n"
    assert repo.run("stash", "list") == ""


@pytest.mark.parametrize("left", ["locked", "unknown"])
def test_what_a_killed_landing_left_is_cleared_away(repo: RepositoryFixture, left: str) -> None:
    tree, folder = worked(repo), repo.scratch / "landing"
    if left == "locked":
        repo.run("worktree", "add", "-q", "--lock", "--detach", str(folder))
    else:
        folder.mkdir()
        (folder / "half.txt").touch()
    assert landed(repo, tree).done
    assert not folder.exists()
