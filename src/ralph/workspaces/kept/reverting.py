"""Commits undone by one more commit, made beside the user's index and work tree. No hook runs."""

import os

from msgspec import Struct

from ralph.model.errors import MachineError
from ralph.workspaces.git import Git
from ralph.workspaces.kept.linked_trees import find_own_branch

_MAX_PATHS_PER_CALL = 200  # paths on one command line
_MAX_COMPARED_COMMITS = 200  # commits of a run


class CommitRange(Struct, frozen=True, kw_only=True):
    """Commits of a run that are on the present branch: after `start`, up to `end`."""

    start: str
    end: str
    count: int
    branch: str = ""  # the run's own: it is reset, and nothing has to be reverted


def plan_revert(git: Git, start: str, end: str, root: str) -> tuple[CommitRange | None, str]:
    """What there is to revert; and why commits that were made are not, in a sentence. The branch of a work tree that is
    the run's own is reset, unless somebody has committed to it since."""
    if not start or not end or start == end:
        return None, ""
    head = git.find_commit("HEAD")
    if (branch := find_own_branch(git, root)) and (head == end or _is_of_ours(git, head, end)):
        count = git.run("rev-list", "--count", f"{start}..{head}").text
        return CommitRange(start=start, end=head, count=int(count) if count.isdecimal() else 0, branch=branch), ""
    if not git.contains("HEAD", end):
        return None, f"its commits are not on this branch (the last is {end[:12]}): they stay where they are"
    if not git.contains(end, start):
        return None, "it rewrote history: its commits stay as they are"
    if git.list_commit_changes(start, "HEAD").keys().isdisjoint(git.list_commit_changes(start, end)):
        return None, ""  # that was done already
    count = git.run("rev-list", "--count", f"{start}..{end}").text
    return CommitRange(start=start, end=end, count=int(count) if count.isdecimal() else 0), ""


def revert_commits(git: Git, commits: CommitRange, message: str, index: str) -> str:
    """A commit on top that has the files of before; those that somebody has committed since stay. Its hash, empty where
    there is nothing to revert. `index` is a file of ours."""
    changed = list(git.list_commit_changes(commits.start, commits.end))
    later = set(git.list_commit_changes(commits.end, "HEAD")) & set(changed)
    later -= _list_known(git, commits, sorted(later))
    still = git.list_commit_changes(commits.start, "HEAD")
    paths = [path for path in changed if path not in later and path in still]
    if not paths:
        return ""
    head = git.check("rev-parse", "HEAD")
    try:
        _require(git.run("read-tree", "HEAD", GIT_INDEX_FILE=index).ok, "cannot read the present commit")
        entries = _read_entries(git, commits.start, paths)
        for chunk in _chunk(paths):
            words = [f"{entries[path]},{path}" for path in chunk if path in entries]
            added = [word for each in words for word in ("--cacheinfo", each)]
            gone = [path for path in chunk if path not in entries]
            said = git.run("update-index", "--add", *added, GIT_INDEX_FILE=index)
            dropped = not gone or git.run("update-index", "--force-remove", "--", *gone, GIT_INDEX_FILE=index).ok
            _require(said.ok and dropped, f"cannot revert its commits: {said.problem}")
        tree = git.write_tree(index)
    finally:
        if os.path.exists(index):
            os.unlink(index)
    body = f"{message}\n\nThis undoes {commits.count} commits up to {commits.end}."
    made = git.with_identity().check("commit-tree", tree, "-p", head, "-m", body)
    _require(git.run("update-ref", "-m", "ralph undo", "HEAD", made, head).ok, "the branch moved meanwhile")
    for chunk in _chunk(paths):
        git.run("--literal-pathspecs", "reset", "--quiet", "--", *chunk)
    return made


def _is_of_ours(git: Git, head: str, end: str) -> bool:
    """Whether it is what ralph committed at the end of the run, for files that its agent had left."""
    parent, _, subject = git.run("log", "-1", "--format=%P%x00%s", head).text.partition("\0")
    return parent == end and subject.startswith("ralph: ")


def _list_known(git: Git, commits: CommitRange, paths: list[str]) -> set[str]:
    """Files that are committed as one of these commits had them: an earlier revert did that, nobody else."""
    if not paths:
        return set()
    present = _read_entries(git, "HEAD", paths)
    listed = git.run("rev-list", f"--max-count={_MAX_COMPARED_COMMITS}", f"{commits.start}..{commits.end}").text.split()
    known = [_read_entries(git, commit, paths) for commit in (commits.start, *listed)]
    return {path for path in paths if any(each.get(path) == present.get(path) for each in known)}


def _read_entries(git: Git, commit: str, paths: list[str]) -> dict[str, str]:
    """`mode,blob` of those that are in a commit, by path."""
    found = {}
    for chunk in _chunk(paths):
        said = git.run("--literal-pathspecs", "ls-tree", "-r", "-z", commit, "--", *chunk)
        for entry in said.output.split("\0"):
            head, _, path = entry.partition("\t")
            if path:
                mode, _, blob = head.split(" ")
                found[path] = f"{mode},{blob}"
    return found


def _chunk(paths: list[str]) -> list[list[str]]:
    return [paths[at : at + _MAX_PATHS_PER_CALL] for at in range(0, len(paths), _MAX_PATHS_PER_CALL)]


def _require(is_fine: bool, problem: str) -> None:
    if not is_fine:
        raise MachineError(problem, "files were restored; see `git status`")
