"""Keeps the work tree around every agent run, and tells what became of it since the run began."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from msgspec import Struct

from ralph.core.text.write_error import DISK_ERRORS, DISK_HINT
from ralph.model.errors import DiskError, MachineError
from ralph.model.ports import SealedTree
from ralph.model.proofs import TreeChange
from ralph.workspaces.acceptance import AcceptedProofs, locate_accepted
from ralph.workspaces.git import Git
from ralph.workspaces.kept.old_snapshots import forget_old_snapshots
from ralph.workspaces.kept.unfinished_work import find_start_tree, note_left_tree
from ralph.workspaces.own_git import OwnGit, replace_file
from ralph.workspaces.own_objects import OwnObjects, read_kept_tree
from ralph.workspaces.pins import Pins
from ralph.workspaces.tree_index import TreeIndex, TreeLook
from ralph.workspaces.tree_objects import SUBMODULE_MODE, TreeFile, compare_trees, list_tree

if TYPE_CHECKING:
    from ralph.workspaces.sealed.sealing import OldFile
    from ralph.workspaces.set_aside import SetAsideFiles

SNAPSHOT_REFS, BASELINE_REFS = "refs/ralph", "refs/baseline"
MAX_DIFF_BYTES = 4 << 20
MAX_PATHS_NAMED = 500


class BaselineSource(Struct, frozen=True, kw_only=True):
    """Where a baseline comes from. `name`: under which it is kept, so that another run of the same work finds it.
    `commit`: what it is if it is not kept and the work tree has been worked in; empty: what is there now."""

    name: str
    commit: str = ""
    task: str = ""  # whose work it is: what a person accepts of it holds for every run of that task
    unfinished: tuple[str, ...] = ()  # runs of the same work that came to no lawful end, the newest first


class Snapshots:
    """Implements the port `TreeKeeper` for one run. Each commit has the one before it for its parent; what was checked
    out then is pinned in the project. `keeps` False: trees are compared, and none is kept but the first."""

    def __init__(
        self,
        own: OwnGit,
        index: TreeIndex,
        run: str,
        *,
        git: Git | None,
        keeps: bool = True,
        baseline: BaselineSource | None = None,
    ) -> None:
        """`git`: the project's own; None: there is no repository."""
        self._own, self._index, self._git = own, index, git
        self._run, self._keeps = run, keeps
        self._source = baseline or BaselineSource(name=run)
        self._objects = OwnObjects(own)
        self._begun = False
        self._baseline = ""
        self._last = TreeLook()
        self._reported: set[str] = set()
        self._compared: dict[tuple[str, str], list[TreeChange]] = {}  # the last pair

    @property
    def root(self) -> str:
        return self._own.root

    def save_initial_tree(self) -> str:
        """Keep what is the user's own, before the first agent can touch it. What is not kept, in words, once."""
        if self._begun:
            return ""
        self._clean_up()
        kept = read_kept_tree(self._own.folder, f"{SNAPSHOT_REFS}/{self._run}")
        self._baseline = read_kept_tree(self._own.folder, self._baseline_ref) or self._import_base()
        problem = self._save("before the first agent", kept, is_start=not self._baseline)
        self._begun = True
        return problem

    def look(self) -> str:
        """The hash of the tree as it is now; nothing is kept for it, but for the first."""
        if self._begun:
            self._look()
        else:
            self.save_initial_tree()
        return self._last.tree

    def save_tree_after(self, iteration: int) -> str:
        """Keep what an agent left, committed or not, if there is anything new. What is not kept, in words, once."""
        if not self._begun:  # resumed where that agent had ended: the baseline is an earlier life's
            return self.save_initial_tree()
        return self._save(f"after iteration {iteration}", self.get_tree_sign())

    def save_cut_off_tree(self, iteration: int) -> str:
        """The same for an agent that was stopped at once. It is the last look of this run."""
        self._own.finishes = True
        try:
            return self.save_tree_after(iteration)
        except MachineError as error:
            return error.message

    def describe_failure(self) -> str:
        """Why the last look told nothing."""
        return self._last.problem or "git was stopped"

    def get_tree_sign(self) -> str:
        return f"{self._last.head} {self._last.tree}".strip()

    def get_work_head(self) -> str:
        return self._last.work_head

    def baseline(self) -> str:
        return self._baseline

    def tree(self) -> str:
        return self._last.tree

    def list_changes(self, before: str, after: str) -> list[TreeChange]:
        """Trees do not change: who asks again, and many do after every agent, is answered from memory."""
        if (before, after) not in self._compared:
            self._compared = {(before, after): compare_trees(self._own, before, after)}
        return [*self._compared[before, after]]

    def read_blob(self, blob: str) -> bytes:
        return self._objects.read_blob(blob)

    def diff(self, before: str, after: str, paths: Sequence[str] = ()) -> str:
        changed = self.list_changes(before, after)
        wanted = [each for each in changed if not paths or each.path in paths]
        self._objects.secure_blobs(
            each.old_blob for each in wanted if each.old_blob and each.old_mode != SUBMODULE_MODE
        )
        words = ("diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
        said = self._own.run("--literal-pathspecs", *words, before, after, "--", *(each.path for each in wanted))
        return said.output[:MAX_DIFF_BYTES].decode("utf-8", "replace")

    def import_commit(self, commit: str) -> str:
        """The tree of a commit of the project, as one of ours; empty where there is no such commit."""
        return self._index.import_commit(commit)

    def open_sealed_tree(
        self, restored: Sequence[str], *, is_committed: bool = False, apart_from: str = ""
    ) -> AbstractContextManager[SealedTree]:
        from ralph.workspaces.sealed.sealer import TreeSealer  # most runs need none

        if not (self._baseline and self._last.tree):
            raise MachineError("nobody knows the files as they were when the run started")
        since = os.stat(self._own.path(self._baseline_ref)).st_mtime
        sealer = TreeSealer(self._own, self._index, since)
        committed = self._find_uncommitted(apart_from) if is_committed else None
        return sealer.open(self._baseline, self._last.tree, restored, committed)

    def write_committed_tree(self, apart_from: str = "") -> str:
        from ralph.workspaces.sealed.committed_files import write_committed_tree

        found = self._find_uncommitted(apart_from)
        return write_committed_tree(self._own, self._index, self._last.tree, found) if found else self._last.tree

    def use_guarded_git(self, git: Git) -> None:
        """One that was made before the first agent: what is committed is read through the filters of then."""
        self._git = git

    def _find_uncommitted(self, apart_from: str) -> "Mapping[str, OldFile | None]":
        from ralph.workspaces.sealed.committed_files import find_uncommitted_files, leave_out_folder  # only stories ask

        head, tree = self._last.head, self._last.tree
        committed = self._index.import_commit(head) if head else ""
        if not committed or self._git is None:
            raise MachineError("nobody knows what is committed", "commit the work, then start again")
        found = find_uncommitted_files(
            self._own, self._git, commit=head, committed=committed, tree=tree, baseline=self._baseline
        )
        return leave_out_folder(found, self.root, apart_from) if apart_from else found

    def _clean_up(self) -> None:
        try:
            forget_old_snapshots(self._own, self._git)
            if self._own.list_refs("sealed"):
                from ralph.workspaces.sealed.sealer import TreeSealer

                TreeSealer(self._own, self._index, 0.0).remove_abandoned()
        except OSError:
            pass  # the next run's turn

    @property
    def accepted(self) -> AcceptedProofs:
        """What a person accepted of this run, or of its task."""
        return AcceptedProofs(locate_accepted(self._own, self._run, self._source.task))

    @property
    def approved(self) -> AcceptedProofs:
        """What a reviewer approved, in whichever run of the same work."""
        return AcceptedProofs(self._own.path("tasks", self._source.name))

    @property
    def set_aside(self) -> "SetAsideFiles":
        """For files of this work tree that are put away for a while."""
        from ralph.workspaces.set_aside import SetAsideFiles  # only tasks need one

        return SetAsideFiles(self._own, self._source.name)

    def write_note(self, name: str, text: str) -> None:
        """Remember something of this work for its next run; nothing where the text is empty."""
        path = self._own.path("tasks", self._source.name, name)
        if text:
            replace_file(path, text.encode())
        elif os.path.exists(path):
            os.unlink(path)

    def forget_notes(self) -> None:
        """Those of earlier work of the same name."""
        for name in self._own.list_refs(folder := os.path.join("tasks", self._source.name)):
            os.unlink(self._own.path(folder, name))

    def read_note(self, name: str) -> str:
        return self._own.read_ref(os.path.join("tasks", self._source.name, name))

    @property
    def began_at(self) -> float | None:
        """When the baseline was kept, by the clock of the disk; None: it is not yet."""
        try:
            return os.stat(self._own.path(self._baseline_ref)).st_mtime
        except OSError:
            return None

    def list_files(self, tree: str, paths: Collection[str]) -> dict[str, TreeFile | None]:
        """These files of a tree; None: it has no such file."""
        some = tuple(paths) if len(paths) <= MAX_PATHS_NAMED else ()  # a command line does not take any number
        known = list_tree(self._own, tree, some)
        return {path: known.get(path) for path in paths}

    def forget_index(self) -> None:
        """The work tree is gone for good."""
        self._index.remove()

    @property
    def _baseline_ref(self) -> str:
        return f"{BASELINE_REFS}/{self._source.name}"

    def _import_base(self) -> str:
        """The tree of the commit where the work began, if others have worked on it since; empty: that is what is
        there now."""
        if not self._source.commit:
            return ""
        tree = self._index.import_commit(self._source.commit)
        if tree:
            self._own.write_ref(self._baseline_ref, self._objects.write_commit(tree, (), "where the work began"))
        return tree

    def _save(self, title: str, before: str, *, is_start: bool = False) -> str:
        """`before`: the sign of what is kept already. What is seen later than at the start is no baseline."""
        self._look()
        if not self._last.tree:
            return self._report_once(self._last.problem)
        problem = self._last.problem
        if before not in (self.get_tree_sign(), self._last.tree):
            try:
                problem = self._keep(title, is_start=is_start) or problem
            except OSError as error:
                problem = f"{error.strerror}: {error.filename or 'the work tree'}"
                if error.errno in DISK_ERRORS:
                    raise self._build_disk_error(problem) from error
        return self._report_once(problem)

    def _look(self) -> None:
        """On a disk that is full or broken nobody goes on: what the next agent overwrites would be lost."""
        self._last = self._index.look()
        if self._last.disk_error:
            raise self._build_disk_error(self._last.disk_error)

    def _build_disk_error(self, why: str) -> DiskError:
        return DiskError(f"cannot keep the files of {self.root}: {why}", DISK_HINT)

    def _keep(self, title: str, *, is_start: bool) -> str:
        """Commit what was seen last; what went wrong, in words."""
        tree, head = self._last.tree, self._last.head
        parent = self._own.read_ref(f"{SNAPSHOT_REFS}/{self._run}")
        if self._keeps or is_start:
            message = f"ralph {self._run}: {title}" + (f"\n\nHead: {head}" if head else "")
            commit = self._objects.write_commit(tree, (parent,) if parent else (), message)
            if is_start:  # first: another life that finds this snapshot keeps no start
                self._keep_baseline(tree, commit)
            if self._keeps:
                self._own.write_ref(f"{SNAPSHOT_REFS}/{self._run}", commit)
        if not self._keeps:
            note_left_tree(self._own, self._run, tree)
        return Pins(self._own, self._git).pin(head) if self._git and head else ""

    def _keep_baseline(self, tree: str, commit: str) -> None:
        start = find_start_tree(self._own, self._index, tree, self._source.unfinished)
        if start != tree:
            commit = self._objects.write_commit(start, (), f"ralph {self._run}: before unfinished work")
        self._own.write_ref(self._baseline_ref, commit)
        self._baseline = start

    def _report_once(self, problem: str) -> str:
        if problem in self._reported:
            return ""
        self._reported.add(problem)
        return problem
