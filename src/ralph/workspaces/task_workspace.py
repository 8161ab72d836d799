"""The workspace of one task: a work tree and a branch of its own, which land when it is its turn."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from ralph.core.instruction_files import InstructionFiles
from ralph.model.errors import MachineError
from ralph.model.loop import Landed
from ralph.model.ports import BranchSides, Inbox
from ralph.model.proofs import GONE_BLOB, TreeChange
from ralph.model.spec import Task
from ralph.workspaces.git import PLAIN_DIFF
from ralph.workspaces.landing import LandingPlan, land_branch
from ralph.workspaces.landing_files import describe_unchecked_files, find_unchecked_files, name_paths
from ralph.workspaces.landing_turns import LandingTurns
from ralph.workspaces.project_dir import find_project_dir
from ralph.workspaces.sealed.tree_copy import put_file, remove_file
from ralph.workspaces.snapshots import Snapshots
from ralph.workspaces.tree_objects import SUBMODULE_MODE, TreeFile
from ralph.workspaces.worktree import Worktree, Worktrees

LANDING_POLL_SECONDS = 0.2
MAX_LISTED_COMMITS = 20  # of each side of a conflict
# One a root: leftovers are found. Not below .git: there are tools that find nothing to test in there.
LANDING_FOLDER = ".landing"
MAX_INSTRUCTION_FILES = 500
_REVIEW_NOTE = "review"  # what the tree was when it began


class TaskWorkspace:
    """Implements the port `Workspace`. `keeper` looks at the work tree, for all who want to know. `landings`: of all
    tasks. `instructions`: what a coder might tell its reviewer by."""

    def __init__(
        self,
        task: Task,
        trees: Worktrees,
        tree: Worktree,
        *,
        keeper: Snapshots,
        landings: LandingTurns,
        inbox: Inbox,
        instructions: InstructionFiles,
    ) -> None:
        self._task, self._trees, self._worktree = task, trees, tree
        self.keeper = keeper
        self._landings, self._inbox, self._instructions = landings, inbox, instructions
        self._target_trees: dict[str, str] = {}  # by commit
        self._landed_files: dict[str, dict[str, str]] = {}  # likewise
        self._has_taken_in = False  # the target, so that the last stage looks at the merged files
        self.find_target_move()
        if tree.is_fresh:
            keeper.forget_notes()  # of a task of this name that is gone
        keeper.set_aside.put_back()  # what a life that was killed had set aside

    @property
    def folder(self) -> str:
        return self._worktree.folder

    @property
    def is_fresh(self) -> bool:
        return self._worktree.is_fresh

    @property
    def branch(self) -> str:
        return self._worktree.branch

    @property
    def target(self) -> str:
        return self._worktree.target

    @property
    def base(self) -> str:
        """The commit it began at."""
        return self._worktree.base

    def diff(self) -> str:
        return self.keeper.diff(self.keeper.baseline(), self.tree())

    def diff_landing(self, folder: str) -> str:
        project = find_project_dir(folder)
        head = project.read_head() if project else ""
        if not head or self.is_own_commit(head):
            return ""
        words = ("diff-tree", "-r", "-p", "--no-renames", *PLAIN_DIFF)
        return self._trees.git.run(*words, self._worktree.target_ref, head).output

    def is_changed(self, tree: str) -> bool:
        if not tree or tree == self.keeper.baseline():
            return not tree
        target = self._read_target()
        return target == self._worktree.base or self._find_tree(target or self._worktree.target_ref) != tree

    def is_untouched(self, tree: str) -> bool:
        return bool(tree) and tree == self.keeper.baseline()

    def is_own_commit(self, commit: str) -> bool:
        return self._read_branch(self.branch) == commit

    def list_landed_files(self) -> dict[str, str]:
        """What other tasks of this run have landed since the work began: path → content. Whoever merges the target into
        its own work has not changed these."""
        target = self._read_target()
        if not self._landings.is_ours(target) or target == self._worktree.base:
            return {}
        if target not in self._landed_files:
            tree = self.keeper.import_commit(target)
            changes = self.keeper.list_changes(self.keeper.baseline(), tree) if tree else []
            self._landed_files = {target: {each.path: each.new_blob or GONE_BLOB for each in changes}}
        return self._landed_files[target]

    def find_target_move(self) -> str:
        target, now = self._worktree.target, self._read_target()
        before = self._landings.find_foreign_move(target, now) if now else ""
        return f"{target} was moved from {before[:12]} to {now[:12]} by someone else" if before else ""

    def list_sides(self) -> BranchSides:
        tree = self._worktree
        ours, theirs = (
            self._list_commits(*sides) for sides in ((tree.target_ref, tree.ref), (tree.ref, tree.target_ref))
        )
        return BranchSides(target=tree.target, branch=tree.branch, ours=ours, theirs=theirs)

    def name_changes(self, before: str, after: str) -> str:
        return name_paths(change.path for change in self.keeper.list_changes(before, after))

    def put_back(self, tree: str) -> str:
        self.keeper.save_tree_after(0)  # nothing is lost
        changes = [
            each for each in self.keeper.list_changes(self.tree(), tree) if SUBMODULE_MODE not in _get_modes(each)
        ]
        for change in changes:
            if change.new_blob:
                put_file(self.folder, change.path, self.keeper.read_blob(change.new_blob), change.new_mode)
            else:
                remove_file(self.folder, change.path)
        return name_paths(change.path for change in changes)

    def tree(self) -> str:
        return self.keeper.tree() or self.look()

    def look(self) -> str:
        """Nothing is put back, compared or merged by a tree that nobody knows."""
        if tree := self.keeper.look():
            return tree
        raise MachineError(f"cannot look at {self.folder}: {self.keeper.describe_failure()}")

    def begin_review(self) -> None:
        self.tree()
        self.keeper.write_note(_REVIEW_NOTE, self.keeper.get_tree_sign())

    def undo_review(self) -> tuple[str, ...]:
        head, _, tree = self.keeper.read_note(_REVIEW_NOTE).rpartition(" ")
        if not tree:
            return ()
        changes = [
            each
            for each in self.keeper.list_changes(tree, self.tree())
            if SUBMODULE_MODE not in (each.old_mode, each.new_mode)
        ]
        self.keeper.set_aside.restore({each.path: _get_old_file(each) for each in changes})
        if head and head != self.keeper.get_tree_sign().rpartition(" ")[0]:
            git = self._trees.open_git(self._worktree)
            git.run("symbolic-ref", "HEAD", self._worktree.ref)
            git.run("reset", "--quiet", "--mixed", head)
        self.keeper.write_note(_REVIEW_NOTE, "")
        if changes:
            self.look()
        return tuple(each.path for each in changes if each.old_blob)

    @contextmanager
    def set_aside_instructions(self) -> Iterator[str]:
        tree = self.tree()  # the first look knows the baseline
        base = self.keeper.baseline()
        changes = self.keeper.list_changes(base, tree) if base else []
        found = [each for each in changes if self._instructions.contains(each.path)]
        originals = {each.path: _get_old_file(each) for each in found}
        originals |= dict.fromkeys(self._list_ignored_instructions(tree))
        if not originals:
            yield ""
            return
        diff = self.keeper.diff(base, tree, [each.path for each in found]) if found else ""
        self.keeper.set_aside.swap(originals, tree)
        try:
            yield diff
        finally:
            self.keeper.set_aside.put_back()

    def _list_ignored_instructions(self, tree: str) -> list[str]:
        """Those that no tree knows, and that were not there when the work began."""
        began = self.keeper.began_at
        if began is None:
            return []
        there = list_instruction_files(self.folder, self._instructions)
        on_disk = [path for path in there if _has_changed_since(self.folder, path, began)]
        known = self.keeper.list_files(tree, on_disk) if on_disk and tree else {}
        return [path for path in on_disk if known.get(path) is None]

    def land(self, verify: Callable[[str], str], trailer: str = "", on_landed: Callable[[str], object] = len) -> Landed:
        """What an agent left lying about lands with the rest."""
        if problem := self._trees.commit_leftovers(self._worktree, _add_trailer(f"ralph: {self._task.id}", trailer)):
            return Landed(done=False, problem=problem)
        if not self._wait_for_turn():
            return Landed(done=False, problem="interrupted")
        try:
            landed = self._merge(verify, trailer)
            if landed.done:
                on_landed(landed.commit)
            return landed
        finally:
            self._landings.turn.release()

    def remove_if_landed(self) -> bool:
        """Remove work tree and branch; False where something in them is not on the target."""
        is_removed = self._trees.remove_if_landed(self._worktree)
        if is_removed:
            self.keeper.forget_index()
        return is_removed

    def _wait_for_turn(self) -> bool:
        """False: this task is to stop first."""
        while not self._landings.turn.acquire(timeout=LANDING_POLL_SECONDS):
            if self._inbox.poll_stop_grace() is not None:
                return False
        return True

    def _merge(self, verify: Callable[[str], str], trailer: str) -> Landed:
        plan = LandingPlan(
            tree=self._worktree,
            folder=self._trees.get_folder(LANDING_FOLDER),
            message=_add_trailer(f"Merge {self._worktree.branch}: {self._task.title}", trailer),
            verify=verify,
            compare=self._compare_files,
            announce=self._landings.announce,
            may_mix=self._has_taken_in or not self._landings.is_ours(self._read_target()),
        )
        found = land_branch(self._trees.git, plan)
        if found.mixed:
            if stale := self._take_in_target(found.mixed):
                return stale
            found = land_branch(self._trees.git, replace(plan, may_mix=True))
        return Landed(
            done=found.done,
            commit=found.commit,
            conflict=found.conflict,
            red=found.check_failure,
            problem=found.problem,
            empty=f"{self._worktree.target} has all of it already" if found.is_empty else "",
            target=found.target,
            target_name=self._worktree.target if found.conflict else "",
        )

    def _take_in_target(self, mixed: Sequence[str]) -> Landed | None:
        """Merge the target into the work tree, for the last stage to look at what no stage has seen: files that git
        merged. Once: whoever lands meanwhile would have it look for ever. None: that is not to be had."""
        self._has_taken_in = True
        git = self._trees.open_git(self._worktree)
        message = f"Merge {self._worktree.target} into {self._worktree.branch}"
        if not git.with_hooks().run("merge", "--no-edit", "--quiet", "-m", message, self._worktree.target_ref).ok:
            git.run("merge", "--abort")
            return None
        self.look()
        return Landed(done=False, stale=True, changed=f"{name_paths(mixed)} merged with {self._worktree.target}")

    def _read_target(self) -> str:
        return self._read_branch(self._worktree.target)

    def _read_branch(self, branch: str) -> str:
        """By its file, which costs nothing; empty where that does not tell."""
        project = find_project_dir(self._trees.root)
        return project.read_branch(branch) if project else ""

    def _find_tree(self, commit: str) -> str:
        if commit not in self._target_trees:
            self._target_trees[commit] = self._trees.git.run("rev-parse", f"{commit}^{{tree}}").text
        return self._target_trees[commit]

    def _list_commits(self, without: str, of: str) -> tuple[str, ...]:
        words = ("log", "--format=%h %s", f"--max-count={MAX_LISTED_COMMITS}", f"{without}..{of}")
        return tuple(self._trees.git.run(*words).text.splitlines())

    def _compare_files(self, folder: str, landing: frozenset[str], moved: frozenset[str]) -> str:
        """What was checked is the tree as last looked at. A file that others changed too is merged, and checked as
        merged; one that is ignored by now does not land."""
        tree = self.tree()
        changed = {each.path for each in self.keeper.list_changes(self.keeper.baseline(), tree)}
        expected = self.keeper.list_files(tree, (landing | changed) - moved)
        unchecked = find_unchecked_files(folder, expected)
        missing = [path for path in unchecked if not os.path.lexists(os.path.join(folder, path))]
        ignored = self._trees.open_git(self._worktree).list_ignored(missing)
        return describe_unchecked_files(path for path in unchecked if path not in ignored)


def _get_modes(change: TreeChange) -> tuple[str, str]:
    return change.old_mode, change.new_mode


def _add_trailer(message: str, trailer: str) -> str:
    return f"{message}\n\n{trailer}" if trailer else message


def _get_old_file(change: TreeChange) -> TreeFile | None:
    return TreeFile(change.old_mode, change.old_blob) if change.old_blob else None


def list_instruction_files(folder: str, known: InstructionFiles) -> list[str]:
    """At the root and in the folders that agents read, whoever ignores them."""
    found = [name for name in known.names if os.path.lexists(os.path.join(folder, name))]
    for name in known.folders:
        for place, _, files in os.walk(os.path.join(folder, name)):
            found += [os.path.relpath(os.path.join(place, file), folder) for file in files]
    return found[:MAX_INSTRUCTION_FILES]


def _has_changed_since(folder: str, path: str, since: float) -> bool:
    try:
        return os.lstat(os.path.join(folder, path)).st_ctime > since
    except OSError:
        return False
