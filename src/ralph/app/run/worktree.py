"""`ralph run --worktree`: where the run works, and how its result is taken over."""

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from msgspec.structs import replace

from ralph.app.paths import Paths, find_paths
from ralph.app.processes import open_short_lived_processes
from ralph.app.run.dirty_tree import describe_files
from ralph.app.stores import open_existing_stores
from ralph.core.own_files import is_own_file
from ralph.core.text.quantities import pluralize
from ralph.model.errors import MachineError, UsageError
from ralph.model.events import Event, Hinted, Noted, Warned
from ralph.process.shell import find_program
from ralph.workspaces.git import Git
from ralph.workspaces.worktree import (
    WORKTREES_FOLDER,
    RunWorktrees,
    Worktree,
    WorktreeResult,
    locate_worktree,
)


def plan_worktree(name: str, paths: Paths, variables: Mapping[str, str]) -> Worktree:
    """The one of that name; refused before anything is made where it cannot be."""
    with _open_worktrees(paths, variables) as trees:
        tree = trees.plan(name, _find_folder_below(paths))
    with open_existing_stores(paths) as stores:
        if stores is not None and any(card.id == name for card in stores.tasks.list_cards()):
            raise UsageError(f"{name} is a task, whose own branch is {tree.branch}", "choose another name")
    return tree


def create_worktree(tree: Worktree, paths: Paths, variables: Mapping[str, str]) -> list[Event]:
    """Make it; what there is to say about it."""
    with _open_worktrees(paths, variables) as trees:
        trees.create(tree)
        missing = [name for name in trees.list_uncommitted() if not is_own_file(name)]
    shown = os.path.relpath(tree.folder, paths.started_in)
    events: list[Event] = [Noted(f"working in {shown} on branch {tree.branch}, from {describe_base(tree)}")]
    if missing:
        events.append(Warned(f"not committed, so not in the work tree: {describe_files(missing)}"))
    return events


def reopen_worktree(tree: Worktree, paths: Paths, variables: Mapping[str, str]) -> None:
    with _open_worktrees(paths, variables) as trees:
        trees.reopen(tree)


def find_worktree_paths(tree: Worktree, paths: Paths) -> Paths:
    """Those of a run in it that was started from `paths`."""
    return replace(find_paths(locate_work(tree, paths)), started_in=paths.started_in)


def locate_work(tree: Worktree, paths: Paths) -> str:
    """The folder in it that stands for the one of the settings."""
    return os.path.normpath(os.path.join(tree.folder, _find_folder_below(paths)))


def move_signal(signal: str, tree: Worktree, paths: Paths) -> str:
    """A file that is to appear in the user's checkout appears in the work tree; what is elsewhere stays there."""
    kind, _, path = signal.partition(":")
    inside = f"{paths.root}/"
    return f"{kind}:{tree.folder}/{path.removeprefix(inside)}" if path.startswith(inside) else signal


def is_in_worktree(folder: str, name: str, paths: Paths) -> bool:
    """Whether it is in the work tree of that name; without a name, in any of `ralph run --worktree`."""
    tree = locate_worktree(paths.main_root, name) if name else os.path.join(paths.main_root, WORKTREES_FOLDER)
    return f"{folder}/".startswith(f"{tree}/")


def conclude_worktree(
    tree: Worktree, run: str, *, is_completed: bool, paths: Paths, variables: Mapping[str, str]
) -> list[Event]:
    """How to take the result over. Of a completed run all of it is committed on the branch; of another the work stays
    as it is, for who goes on with it."""
    with _open_worktrees(paths, variables) as trees:
        message = f"ralph: {tree.branch.partition('/')[2]}\n\nWhat run {run} left uncommitted."
        found = trees.commit_leftovers(tree, message) if is_completed else trees.look(tree)
    shown = os.path.relpath(tree.folder, paths.started_in)
    events: list[Event] = [Warned(f"not committed in {shown}: {found.problem}")] if found.problem else []
    described = _describe_result(tree, found, shown) if is_completed else _describe_state(tree, found, shown)
    return [*events, *map(Hinted, described)]


def _describe_result(tree: Worktree, found: WorktreeResult, shown: str) -> Iterator[str]:
    if found.commits:
        yield f"the work is on branch {tree.branch}, {_count_commits(tree, found)}: `git merge {tree.branch}`"
    after = "then remove the work tree" if found.commits else f"nothing was changed on {tree.branch}; remove it"
    yield f"{after}: `git worktree remove {shlex.quote(shown)} && git branch -d {tree.branch}`"


def _describe_state(tree: Worktree, found: WorktreeResult, shown: str) -> Iterator[str]:
    """Of a run that did not complete: all is kept for who goes on with it."""
    if found.commits:
        yield f"so far on branch {tree.branch}: {_count_commits(tree, found)}"
    if found.uncommitted:
        yield f"not committed, in {shown}: {describe_files([*found.uncommitted])}"
    yield f"to throw it away: `git worktree remove --force {shlex.quote(shown)} && git branch -D {tree.branch}`"


def _count_commits(tree: Worktree, found: WorktreeResult) -> str:
    return f"{pluralize(found.commits, 'commit')} since {describe_base(tree)}"


def describe_base(tree: Worktree) -> str:
    return f"{tree.target} at {tree.base[:10]}" if tree.target else tree.base[:10]


def _find_folder_below(paths: Paths) -> str:
    return os.path.relpath(paths.folder, paths.root)


@contextmanager
def _open_worktrees(paths: Paths, variables: Mapping[str, str]) -> Iterator[RunWorktrees]:
    program = find_program("git", variables)
    if program is None or not paths.in_git:
        problem = "git is not on PATH" if program is None else f"{paths.folder} is not in a git repository"
        raise MachineError(f"--worktree: {problem}", "run without it, or `git init` and commit something first")
    common = os.path.dirname(paths.state)
    with open_short_lived_processes() as processes:
        git = Git(program, paths.root, environment=variables, processes=processes, common=common)
        yield RunWorktrees(git.with_guard(), root=paths.main_root, common=common)
