"""The branch of a story loop: created, kept or asked for, in a real repository."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.app.paths import find_paths
from ralph.app.processes import open_short_lived_processes
from ralph.app.story.branch import create_announced_branch, enter_branch, name_branch, read_announced_branch
from ralph.model.errors import MachineError, UsageError
from ralph.process.shell import find_program
from ralph.workspaces.git import Git
from support.stories import write_plan
from support.workshop import ProjectFixture


@pytest.fixture
def git(workshop: ProjectFixture) -> Iterator[Git]:
    program = find_program("git", os.environ)
    assert program
    with open_short_lived_processes() as processes:
        yield Git(program, str(workshop.repo), environment=workshop.environment, processes=processes)


def commit(workshop: ProjectFixture, text: str = "one") -> None:
    (workshop.repo / "a.txt").write_text(text)
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", text)


def create(workshop: ProjectFixture, branch: str = "ralph/door") -> str:
    return create_announced_branch(branch, find_paths(str(workshop.repo)), workshop.environment)


# -- the name -------------------------------------------------------------------------------------
def test_a_branch_is_called_like_the_feature() -> None:
    assert name_branch("front door") == "ralph/front-door"


@pytest.mark.parametrize(
    ("named", "announced"),
    [("ralph/door", "ralph/door"), (" main ", "main"), ("ralph/feature-name", ""), ("", ""), (3, ""), (None, "")],
)
def test_the_template_names_no_branch(workshop: ProjectFixture, named: object, announced: str) -> None:
    (workshop.repo / "ralph").mkdir()
    write_plan(workshop.repo, branchName=named)
    assert read_announced_branch((workshop.repo / "ralph/tasks.json").read_text()) == announced


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_broken_list_names_none(text: str) -> None:
    assert read_announced_branch(text) == ""


# -- init -----------------------------------------------------------------------------------------
def test_init_creates_the_branch_and_takes_changes_along(workshop: ProjectFixture, git: Git) -> None:  # C34
    commit(workshop)
    (workshop.repo / "a.txt").write_text("mine")
    assert create(workshop) == "Created branch ralph/door from main and switched to it"
    assert git.read_branch() == "ralph/door"
    assert (workshop.repo / "a.txt").read_text() == "mine"
    assert create(workshop) == "On branch ralph/door"


def test_without_a_commit_the_first_branch_stays_as_it_is(workshop: ProjectFixture, git: Git) -> None:  # C34
    assert "`ralph story run` creates branch ralph/door" in create(workshop)
    assert git.read_branch() == "main"


def test_outside_a_repository_init_says_who_creates_it(workshop: ProjectFixture, tmp_path: Path) -> None:  # C34
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    said = create_announced_branch("ralph/door", find_paths(str(outside)), workshop.environment)
    assert "not in a git repository" in said


def test_init_leaves_an_existing_branch_alone(workshop: ProjectFixture, git: Git) -> None:  # C34
    commit(workshop)
    workshop.git("branch", "ralph/door")
    with pytest.raises(UsageError) as refused:
        create(workshop)
    assert "git switch ralph/door" in refused.value.hint
    assert git.read_branch() == "main"


@pytest.mark.parametrize("branch", ["ralph/a..b", "ralph/a~", "ralph/", "-x"])
def test_what_cannot_be_a_branch_is_refused(workshop: ProjectFixture, git: Git, branch: str) -> None:
    with pytest.raises(UsageError):
        create(workshop, branch)
    with pytest.raises(UsageError):
        enter_branch(git, branch, "")


# -- run ------------------------------------------------------------------------------------------
def test_the_loop_works_on_the_branch_it_announces(workshop: ProjectFixture, git: Git) -> None:  # C34
    commit(workshop)
    assert enter_branch(git, "ralph/door", "") == ("ralph/door", "Working on branch ralph/door, created from main")
    assert git.read_branch() == "ralph/door"
    assert enter_branch(git, "ralph/door", "") == ("ralph/door", "Working on branch ralph/door")


def test_on_another_branch_the_loop_asks_which_is_meant(workshop: ProjectFixture, git: Git) -> None:  # C34
    commit(workshop)
    workshop.git("branch", "ralph/door")
    with pytest.raises(UsageError) as refused:
        enter_branch(git, "ralph/door", "")
    assert refused.value.hint == "`git switch ralph/door`, or choose the branch to work on: --branch main"
    assert enter_branch(git, "ralph/door", "main") == ("main", "Working on branch main")
    assert enter_branch(git, "", "ralph/door")[0] == git.read_branch() == "ralph/door"


def test_a_branch_in_another_work_tree_is_named_with_its_place(workshop: ProjectFixture, git: Git) -> None:
    commit(workshop)
    tree = workshop.home / "tree"
    workshop.git("worktree", "add", "-q", "-b", "ralph/door", str(tree))
    with pytest.raises(UsageError) as refused:
        enter_branch(git, "ralph/door", "")
    assert str(tree) in refused.value.hint


def test_without_a_name_the_loop_says_where_it_works(workshop: ProjectFixture, git: Git) -> None:  # C34
    commit(workshop)
    assert enter_branch(git, "", "") == ("main", "Working on branch main: tasks.json names none; see --branch")
    workshop.git("checkout", "-q", "--detach")
    branch, said = enter_branch(git, "", "")
    assert branch == ""
    assert "--branch" in said


def test_a_branch_needs_a_commit_to_start_from(workshop: ProjectFixture, git: Git) -> None:
    with pytest.raises(UsageError) as refused:
        enter_branch(git, "ralph/door", "")
    assert "git commit" in refused.value.hint


def test_changes_in_the_way_are_not_overwritten(workshop: ProjectFixture, git: Git) -> None:
    commit(workshop)
    workshop.git("checkout", "-q", "-b", "ralph/door")
    commit(workshop, "two")
    workshop.git("checkout", "-q", "main")
    (workshop.repo / "a.txt").write_text("mine")
    with pytest.raises(MachineError) as refused:
        enter_branch(git, "", "ralph/door")
    assert "commit or stash" in refused.value.hint
    assert (workshop.repo / "a.txt").read_text() == "mine"


def test_a_hook_that_fails_afterwards_undoes_nothing(workshop: ProjectFixture, git: Git) -> None:
    commit(workshop)
    hook = workshop.repo / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert enter_branch(git, "ralph/door", "")[0] == "ralph/door"
