"""Keeps the work tree around every agent run, as commits on a ref of the run: no clean-up loses work."""

import os
import time
from collections.abc import Sequence

from msgspec import Struct

from ralph.model.errors import MachineError
from ralph.model.ports import GitResult
from ralph.model.proofs import TreeChange
from ralph.workspaces.git import Git

SNAPSHOT_REFS = "refs/ralph"
MAX_NEW_FILE_BYTES = 50 << 20  # bytes; a new file beyond this is left out
MAX_NEW_FILES_BYTES = 500 << 20  # if new files together are beyond this, all of them are
MAX_EXCLUDED_FILES = 100  # no more than this are left out one by one
SNAPSHOT_DAYS = 30  # so long are snapshots kept
_STATUS_COMMAND = ("--no-optional-locks", "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")
_STATUS_OPTIONS = ("--no-renames", "--ignore-submodules=dirty")
NOT_OUR_LOGS = (":(exclude,top,glob)**/.ralph/*.log", ":(exclude,top,glob)**/.ralph/prompt_*.txt")
_WITHOUT_HOOKS = ("-c", "core.hooksPath=/dev/null")


class TreeStatus(Struct, frozen=True):
    """The work tree at a glance."""

    head: str = ""  # the commit that is checked out; empty before the first
    changed: bool = False  # files that git knows
    new: tuple[str, ...] = ()  # others, ignored ones not among them

    @property
    def is_clean(self) -> bool:
        """Whether all of it is committed."""
        return not self.changed and not self.new


class Snapshots:
    """Of one run. Each commit has the one before it for its first parent, and what was checked out for another."""

    def __init__(self, git: Git, run: str, index: str) -> None:
        self._git, self._run, self._index = git, run, index
        self._ref = f"{SNAPSHOT_REFS}/{run}"
        self._begun = False
        self._last = ("", "")  # commit and tree, when it was last looked at; no tree: that of the commit
        self._newest = ""
        self._reported: set[str] = set()
        self._baseline = ""

    def save_initial_tree(self) -> str:
        """Keep what is the user's own, before the first agent can touch it. What is not kept, in words, once."""
        if self._begun:
            return ""
        self._begun = True
        seen = self._read_status()
        if isinstance(seen, str):
            return self._report_once(seen)
        problem = "" if seen.is_clean else self._commit_snapshot(seen, "before the first agent")
        self._last = (seen.head, "") if seen.is_clean else self._last
        self._baseline = self.tree()
        return problem

    def save_tree_after(self, iteration: int) -> str:
        """Keep what an agent left, committed or not, if there is anything new. What is not kept, in words, once."""
        seen = self._read_status()
        if isinstance(seen, str):
            return self._report_once(seen)
        if seen.is_clean and self._last == (seen.head, ""):
            return ""
        return self._commit_snapshot(seen, f"after iteration {iteration}")

    def get_tree_sign(self) -> str:
        return " ".join(self._last).strip()

    def baseline(self) -> str:
        return self._baseline

    def tree(self) -> str:
        head, tree = self._last
        return tree or (self._git.run("rev-parse", f"{head}^{{tree}}").text if head else "")

    def list_changes(self, before: str, after: str) -> list[TreeChange]:
        said = self._git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", before, after)
        words = said.output.split("\0")
        return [_parse_change(head, path) for head, path in zip(words[::2], words[1::2], strict=False)]

    def read_blob(self, blob: str) -> bytes:
        said = self._git.run("cat-file", "blob", blob)
        if not said.ok:
            raise MachineError(f"cannot read {blob}: {said.problem}")
        return said.output.encode()

    def diff(self, before: str, after: str, paths: Sequence[str] = ()) -> str:
        words = ("diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", before, after, "--")
        return self._git.run("--literal-pathspecs", *words, *paths).output

    def _read_status(self) -> TreeStatus | str:
        said = self._git.run(*_STATUS_COMMAND, *_STATUS_OPTIONS)
        return parse_status(said.output) if said.ok else _describe_failure(said)

    def _commit_snapshot(self, seen: TreeStatus, title: str) -> str:
        tree, problem = ("", "") if seen.is_clean else self._write_tree(seen)
        if self._last == (seen.head, tree) or not (seen.is_clean or tree):
            return self._report_once(problem)
        if not self._newest:
            self._delete_old()
            self._newest = self._git.find_commit(self._ref)
        parents = [word for commit in (self._newest, seen.head) if commit for word in ("-p", commit)]
        made = self._git.as_ralph().run(
            "commit-tree", tree or f"{seen.head}^{{tree}}", *parents, "-m", f"ralph {self._run}: {title}"
        )
        said = self._git.run(*_WITHOUT_HOOKS, "update-ref", self._ref, made.text) if made.ok else made
        if not said.ok:
            return self._report_once(_describe_failure(said))
        self._newest, self._last = made.text, (seen.head, tree)
        return self._report_once(problem)

    def _write_tree(self, seen: TreeStatus) -> tuple[str, str]:
        """The hash of all files, and what of them could not be kept."""
        if os.path.exists(f"{self._index}.lock"):  # of a git that was stopped half-way; nobody else uses ours
            os.unlink(f"{self._index}.lock")
        left_out = self._find_excluded(seen)
        which, problem = "--all", ", ".join(f"{name} ({why})" for name, why in left_out.items())
        if len(left_out) > MAX_EXCLUDED_FILES:
            which, left_out, problem = "--update", {}, "all new files: there are too many, or too large ones"
        others = (f":(exclude,top,literal){name.rstrip('/')}" for name in left_out)
        said = self._git.add_to_index(self._index, which, "--ignore-errors", "--", ":/", *NOT_OUR_LOGS, *others)
        return self._git.write_tree(self._index), problem or ("" if said.ok else _describe_failure(said))

    def _find_excluded(self, seen: TreeStatus) -> dict[str, str]:
        """Repositories inside the repository, which git would keep as a name only, and what might fill the disk."""
        sizes = {name: _read_size(os.path.join(self._git.folder, name)) for name in seen.new}
        most = (
            -1
            if sum(size for size in sizes.values() if size <= MAX_NEW_FILE_BYTES) > MAX_NEW_FILES_BYTES
            else MAX_NEW_FILE_BYTES
        )
        inner = {name: "a repository of its own" for name in sizes if name.endswith("/")}
        return {name: f"{size >> 20} MB" for name, size in sizes.items() if size > most} | inner

    def _delete_old(self) -> None:
        oldest = time.strftime("%Y%m%d", time.localtime(time.time() - SNAPSHOT_DAYS * 86_400))
        listed = self._git.run("for-each-ref", "--format=%(refname)", f"{SNAPSHOT_REFS}/")
        for ref in listed.text.splitlines():
            if ref.removeprefix(f"{SNAPSHOT_REFS}/")[:8] < oldest:
                self._git.run(*_WITHOUT_HOOKS, "update-ref", "-d", ref)

    def _report_once(self, problem: str) -> str:
        if problem in self._reported:
            return ""
        self._reported.add(problem)
        return problem


def parse_status(output: str) -> TreeStatus:
    """What `git status --porcelain=v2 --branch -z` tells, without our own logs."""
    head, changed, new = "", False, []
    for entry in output.split("\0"):
        kind, _, rest = entry.partition(" ")
        if kind == "?":
            if not _is_our_log(rest):
                new.append(rest)
        elif kind in ("1", "2", "u"):
            changed = True
        elif rest.startswith("branch.oid ") and not rest.endswith("(initial)"):
            head = rest.removeprefix("branch.oid ")
    return TreeStatus(head, changed, tuple(new))


def _parse_change(head: str, path: str) -> TreeChange:
    old_mode, new_mode, old_blob, new_blob, _ = head.lstrip(":").split(" ")
    old = {} if set(old_mode) == {"0"} else {"old_mode": old_mode, "old_blob": old_blob}
    new = {} if set(new_mode) == {"0"} else {"new_mode": new_mode, "new_blob": new_blob}
    return TreeChange(path=path, **old, **new)


def _describe_failure(said: GitResult) -> str:
    """Nothing of a git that was stopped: whoever did it knows."""
    return said.problem if said.code >= 0 else ""


def _is_our_log(name: str) -> bool:
    folder, _, file = f"/{name}".rpartition("/")
    return folder.endswith("/.ralph") and (file.endswith(".log") or file[:7] + file[-4:] == "prompt_.txt")


def _read_size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0  # gone since, or a name that was cut
