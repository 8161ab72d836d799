"""A work tree and a branch for each task, or for a run of its own; nothing in it is ever lost."""

import os
import re

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.own_files import DRAFT_PREFIX
from ralph.model.errors import MachineError, UsageError
from ralph.process.atomic_file import write_atomic
from ralph.workspaces.git import Git
from ralph.workspaces.project_dir import find_git_dir, find_project_dir

WORKTREES_FOLDER = ".ralph/worktrees"
BRANCH_PREFIX = "ralph"  # they are below it
_NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]*"
# Else they would stand in the way of `git worktree remove`, and an agent's `git add -A` would take them.
_OUR_OUTPUT = (".ralph/*.log", ".ralph/prompt_*.txt", f"{DRAFT_PREFIX}*")
_STATUS_WORDS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--no-renames")


class Worktree(Struct, frozen=True, kw_only=True):
    """Where one task is worked on."""

    folder: str
    branch: str
    target: str  # the branch it will land on
    base: str  # the commit it began at
    is_fresh: bool = False  # it was made just now

    @property
    def ref(self) -> str:
        """Its branch by the full name: a tag may have the short one."""
        return f"refs/heads/{self.branch}"

    @property
    def target_ref(self) -> str:
        return f"refs/heads/{self.target}"


class WorktreeStatus(Struct, frozen=True):
    """What is not committed, at a glance."""

    branch: str = ""  # empty: none is checked out
    unmerged: tuple[str, ...] = ()
    has_changes: bool = False


class Worktrees:
    """All work trees of one repository."""

    def __init__(self, git: Git, root: str, common: str) -> None:
        self.git, self.root, self._common = git, root, common

    def get_folder(self, task: str) -> str:
        return locate_worktree(self.root, task)

    def open(self, task: str, target: str) -> Worktree:
        """The task's own, made if it is not there; its earlier work is found again on its branch."""
        exclude_from_status(self._common, f"/{WORKTREES_FOLDER}/", f"{DRAFT_PREFIX}*")
        folder = self.get_folder(task)
        tree = Worktree(folder=folder, branch=f"{BRANCH_PREFIX}/{task}", target=target, base="")
        if _is_half_made(folder):  # nobody has worked in it, and it lacks files that are not meant to be deleted
            self.git.drop_worktree(folder)
        known = self.git.find_commits(tree.ref, tree.target_ref)
        is_fresh = not os.path.exists(os.path.join(folder, ".git"))  # without it, git would take the one around it
        if is_fresh:
            words = (folder, tree.branch) if tree.ref in known else ("-b", tree.branch, folder, tree.target_ref)
            self.git.with_hooks().add_worktree(folder, *words)
        base = known.get(tree.target_ref, "")
        if tree.ref not in known:
            return replace(tree, base=base, is_fresh=True)
        if known[tree.ref] != base:
            base = self._catch_up(tree) or base
        return replace(tree, base=base, is_fresh=is_fresh and known[tree.ref] == base)

    def commit_leftovers(self, tree: Worktree, message: str) -> str:
        """Commit on its branch what an agent left lying about; why that cannot be, otherwise."""
        git = self.open_git(tree)
        _remove_stale_lock(tree.folder)
        status = self._read_status(git)
        if status.unmerged:
            return f"a merge in its work tree is not resolved: {', '.join(status.unmerged)}"
        if problem := _return_to_branch(git, tree, status.branch):
            return problem
        if not status.has_changes and not os.path.exists(os.path.join(find_git_dir(tree.folder), "MERGE_HEAD")):
            return ""
        git.check("add", "--all")
        # Whoever left it there has been verified; the user's hooks are for commits that are meant.
        said = git.run("commit", "--quiet", "--no-verify", "-m", message)
        return "" if said.ok else f"what is in its work tree cannot be committed: {said.problem}"

    def remove_if_landed(self, tree: Worktree) -> bool:
        """Remove it and its branch, only when all it holds is reachable from the target."""
        git = self.open_git(tree)
        is_there = os.path.exists(tree.folder)
        known = self.git.find_commits(tree.ref, tree.target_ref)
        target = known.get(tree.target_ref, "")
        held = {known.get(tree.ref, ""), _read_head(git, tree.folder) if is_there else known.get(tree.ref, "")}
        if is_there and self._read_status(git).has_changes:
            return False
        if not all(commit and (commit == target or self.git.contains(target, commit)) for commit in held):
            return False
        removed = not is_there or self.git.run_locked("worktree", "remove", "--force", tree.folder).ok
        return removed and self.git.run_locked("branch", "--delete", "--force", "--quiet", tree.branch).ok

    def list_tasks(self) -> list[str]:
        """The tasks that have a branch."""
        said = self.git.run("for-each-ref", "--format=%(refname)", f"refs/heads/{BRANCH_PREFIX}/")
        return [name.removeprefix(f"refs/heads/{BRANCH_PREFIX}/") for name in said.text.splitlines()]

    def open_git(self, tree: Worktree) -> Git:
        """Git in that work tree. Its `.git` is put right where an agent has written another."""
        if not os.path.isdir(tree.folder) or not (known := self._find_admin_dir(tree.folder)):
            return self.git.in_folder(tree.folder)
        if find_git_dir(tree.folder) != known:
            write_atomic(os.path.join(tree.folder, ".git"), f"gitdir: {known}\n")
        return self.git.in_folder(tree.folder, known)

    def _find_admin_dir(self, folder: str) -> str:
        """Where git keeps what is this work tree's own, by its own list."""
        base = os.path.join(self._common, "worktrees")
        for name in os.listdir(base) if os.path.isdir(base) else ():
            try:
                with open(os.path.join(base, name, "gitdir"), encoding="utf-8", errors="surrogateescape") as file:
                    if os.path.dirname(file.read().strip()) == folder:
                        return os.path.join(base, name)
            except OSError:
                continue
        return ""

    def _catch_up(self, tree: Worktree) -> str:
        """The commit where its branch left the target. One without work of its own moves on to the target."""
        base = self.git.run("merge-base", tree.target_ref, tree.ref).text
        if base and base == self.git.find_commit(tree.ref):
            said = self.open_git(tree).with_hooks().run("merge", "--ff-only", "--quiet", tree.target_ref)
            base = self.git.find_commit(tree.target_ref) if said.ok else base
        return base

    def _read_status(self, git: Git) -> WorktreeStatus:
        return parse_worktree_status(git.check(*_STATUS_WORDS))


class WorktreeResult(Struct, frozen=True, kw_only=True):
    """What a run left in its work tree."""

    commits: int  # since it began
    uncommitted: tuple[str, ...] = ()
    problem: str = ""  # why they could not be committed


class RunWorktrees:
    """Those of one repository. `git` is seen from the user's checkout; `root` has the folder they are in, `common` is
    the git folder that all of them share."""

    def __init__(self, git: Git, *, root: str, common: str) -> None:
        self._git, self._root, self._common = git, root, common

    def plan(self, name: str, below: str) -> Worktree:
        """A new one, from what is checked out; nothing is made yet. `below`: the folder in it that is worked in."""
        start = self._git.find_commit("HEAD")
        if not start:
            raise MachineError("there is no commit to start a work tree from", "commit something first")
        branch, folder = f"{BRANCH_PREFIX}/{name}", locate_worktree(self._root, name)
        if not re.fullmatch(_NAME_PATTERN, name) or not self._git.run("check-ref-format", f"refs/heads/{branch}").ok:
            raise UsageError(f"{name!r} cannot be the name of a work tree", "use letters, digits, '.', '_' and '-'")
        if self._git.find_commit(f"refs/heads/{branch}") or os.path.lexists(folder):
            hint = f"choose another name, or resume a run with `ralph run --resume --worktree {name}`"
            raise UsageError(f"there is a work tree or a branch {branch} already", hint)
        if below != "." and not self._git.run("cat-file", "-e", f"{start}:{below}").ok:
            raise UsageError(f"{below}/ is not in the last commit, so the work tree would lack it", "commit it first")
        return Worktree(folder=folder, branch=branch, target=self._git.read_branch(), base=start)

    def create(self, tree: Worktree) -> None:
        exclude_from_status(self._common, f"/{WORKTREES_FOLDER}/", *_OUR_OUTPUT)
        self._git.with_hooks().add_worktree(tree.folder, "-b", tree.branch, tree.folder, tree.base)

    def reopen(self, tree: Worktree) -> None:
        """Make it again where it is gone, from its branch."""
        if _is_half_made(tree.folder):
            self._git.drop_worktree(tree.folder)
        if os.path.exists(os.path.join(tree.folder, ".git")):
            return
        if not self._git.find_commit(tree.ref):
            raise MachineError(f"the work tree and its branch {tree.branch} are gone", "start a new run")
        self._git.with_hooks().add_worktree(tree.folder, tree.folder, tree.branch)

    def list_uncommitted(self) -> list[str]:
        """What the user has not committed, and a work tree therefore lacks."""
        new = self._git.run("ls-files", "--others", "--exclude-standard", "--directory", "-z", "--", ":/")
        return [*self._git.list_changed_files(), *filter(None, new.output.split("\0"))]

    def commit_leftovers(self, tree: Worktree, message: str) -> WorktreeResult:
        """On its branch, so that a merge takes all of it."""
        problem = Worktrees(self._git.with_identity(), self._root, self._common).commit_leftovers(tree, message)
        found = self.look(tree)
        return WorktreeResult(commits=found.commits, uncommitted=found.uncommitted, problem=problem)

    def look(self, tree: Worktree) -> WorktreeResult:
        there = self._git.in_folder(tree.folder)
        status = there.run("--no-optional-locks", "status", "--porcelain", "-z", "--no-renames").output
        count = self._git.run("rev-list", "--count", f"{tree.base}..{tree.ref}").text
        names = tuple(entry[3:] for entry in status.split("\0") if entry)
        return WorktreeResult(commits=int(count) if count.isdecimal() else 0, uncommitted=names)


def exclude_from_status(common: str, *lines: str) -> None:
    """Git need not see what is ours in the user's status, and .gitignore is the user's."""
    path = os.path.join(common, "info", "exclude")
    known = ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            known = file.read()
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    start = "\n" if known and not known.endswith("\n") else ""
    if missing := [line for line in lines if line not in known.splitlines()]:
        with open(path, "a", encoding="utf-8") as file:
            file.write(start + "".join(f"{line}\n" for line in missing))


def forget_exclusions(common: str) -> None:
    """What we excluded, and nothing else."""
    path, ours = os.path.join(common, "info", "exclude"), {f"/{WORKTREES_FOLDER}/", *_OUR_OUTPUT}
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.readlines()
    except OSError:
        return
    left = [line for line in lines if line.rstrip("\n") not in ours]
    if left != lines:
        write_atomic(path, "".join(left))


def parse_worktree_status(output: str) -> WorktreeStatus:
    """What `git status --porcelain=v2 --branch -z` tells."""
    branch, unmerged, has_changes = "", [], False
    for entry in output.split("\0"):
        kind, _, rest = entry.partition(" ")
        if kind == "u":
            unmerged.append(rest.split(" ", 9)[-1])
        elif kind in ("1", "?"):
            has_changes = True
        elif rest.startswith("branch.head ") and not rest.endswith("(detached)"):
            branch = rest.removeprefix("branch.head ")
    return WorktreeStatus(branch, tuple(unmerged), has_changes or bool(unmerged))


def locate_worktree(root: str, task: str) -> str:
    """The folder of the task's work tree, whether it is there or not."""
    return os.path.join(root, WORKTREES_FOLDER, task)


def _is_half_made(folder: str) -> bool:
    """Git locks a work tree while it makes it: a lock that stayed is of one that was killed."""
    try:
        with open(os.path.join(find_git_dir(folder), "locked"), encoding="utf-8") as file:
            return file.read().strip() == "initializing"
    except OSError:
        return False


def _read_head(git: Git, folder: str) -> str:
    project = find_project_dir(folder)
    return (project.read_head() if project else "") or git.find_commit("HEAD")


def _remove_stale_lock(folder: str) -> None:
    """Whoever worked here is gone, with all it had started: a lock that an agent's git left is nobody's."""
    path = os.path.join(find_git_dir(folder), "index.lock")
    if os.path.exists(path):
        os.unlink(path)


def _return_to_branch(git: Git, tree: Worktree, elsewhere: str) -> str:
    """An agent may have made a branch of its own: what it did there belongs on the task's."""
    if elsewhere == tree.branch:
        return ""
    if not git.contains("HEAD", tree.ref):
        return f"its work tree is on {elsewhere or 'no branch'}, which lacks what {tree.branch} has"
    said = git.run("checkout", "--quiet", "-B", tree.branch)
    return "" if said.ok else f"its work tree is on {elsewhere or 'no branch'}: {said.problem}"
