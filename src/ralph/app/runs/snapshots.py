"""The snapshots of a run: listed, compared, and their files put back."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.processes import open_short_lived_processes
from ralph.model.errors import MachineError, NoSuchRun
from ralph.model.ports import Processes
from ralph.model.proofs import TreeChange
from ralph.process.shell import find_program
from ralph.workspaces.acceptance import AcceptedProofs, locate_accepted
from ralph.workspaces.git import Git
from ralph.workspaces.own_dir import find_own_dir
from ralph.workspaces.own_git import OwnGit
from ralph.workspaces.own_objects import OwnObjects, read_kept_tree
from ralph.workspaces.project_dir import find_project_dir
from ralph.workspaces.snapshots import BASELINE_REFS, SNAPSHOT_REFS
from ralph.workspaces.tree_objects import TreeFile, compare_trees, list_tree

if TYPE_CHECKING:
    from ralph.core.proofs.check_files import TreeTexts

BEFORE_TITLE, AFTER_TITLE_PREFIX = "before the first agent", "after iteration "
MAX_SNAPSHOTS = 100_000
MAX_PATHS_PER_CALL = 200  # a command line does not take any number
NO_FILE = TreeFile("", "")
ROOT_FILE = "root"


class SnapshotCommit(Struct, frozen=True):
    """A commit that keeps the work tree as it was."""

    title: str
    commit: str
    at: int  # unix time

    @property
    def iteration(self) -> int | None:
        """After which it was made; 0: before any; None: its title does not tell."""
        number = self.title.removeprefix(AFTER_TITLE_PREFIX)
        return 0 if self.title == BEFORE_TITLE else int(number) if number.isdecimal() else None


class SnapshotReader:
    """Asks the git that has a run's snapshots: ralph's own, or the project's for runs of version 0.1."""

    def __init__(self, places: Paths, variables: Mapping[str, str], processes: Processes) -> None:
        self.processes = processes
        program = find_program("git", variables, places.root) or "git"
        project = find_project_dir(places.root) if places.in_git else None
        folder = find_own_dir(variables, root=places.root, project=project, fallback=places.state)
        self._own = (
            OwnGit(program, folder, root=places.root, environment=variables, processes=processes) if folder else None
        )
        self._project = Git(program, places.root, environment=variables, processes=processes) if project else None

    def list(self, run: str, most: int = MAX_SNAPSHOTS) -> tuple[SnapshotCommit, ...]:
        """The oldest first, not more than `most`; none where git knows of none."""
        ref = f"{SNAPSHOT_REFS}/{run}"
        words = ("log", "--first-parent", f"--max-count={most}", "--format=%H%x00%ct%x00%s", ref, "--")
        if self._own and self._own.read_ref(ref):
            return _parse_log(self._own.run(*words, own_objects=True).output.decode("utf-8", "replace"), run)
        said = self._project.run(*words) if self._project else None
        return _parse_log(said.output, run) if said and said.ok else ()

    def find_baseline(self, run: str) -> str:
        """The commit that its changes are counted from, where it is the run's own."""
        return self._own.read_ref(f"{BASELINE_REFS}/{run}") if self._own else ""

    def diff(self, older: str, newer: str, paths: Sequence[str] = ()) -> str:
        """What changed between two of them, in these files or all."""
        options = ("--literal-pathspecs", "diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", "--no-color")
        words = (*options, older, newer, *(("--", *paths) if paths else ()))
        if self._own and self._own.run("cat-file", "-e", newer).ok:
            return self._own.run(*words).output.decode("utf-8", "replace")
        return self._project.run(*words).output if self._project else ""

    def compare(self, older: str, newer: str) -> tuple[TreeChange, ...]:
        """Which files differ between two snapshots or trees."""
        if self._own is None:
            raise NoSuchRun("ralph has kept no files of this folder", "see `ralph show`")
        return tuple(compare_trees(self._own, older, newer))

    def read_head(self, commit: str) -> str:
        """What was checked out when a snapshot was made; empty where nothing was."""
        said = self._own.run("log", "-1", "--format=%b", commit, "--") if self._own else None
        lines = said.text.splitlines() if said else []
        return next((line.removeprefix("Head: ") for line in lines if line.startswith("Head: ")), "")

    @property
    def scratch_index(self) -> str:
        """A file to work with; whoever does removes it."""
        assert self._own is not None
        return self._own.path(f"index.{os.getpid()}")

    def restore_paths(self, commit: str, folder: str, paths: Sequence[str]) -> None:
        """Write these files of a snapshot over those that are there."""
        assert self._own is not None
        for at in range(0, len(paths), MAX_PATHS_PER_CALL):
            some = paths[at : at + MAX_PATHS_PER_CALL]
            words = ("--literal-pathspecs", "restore", f"--source={commit}", "--worktree", "--", *some)
            if not (said := self._own.run(*words, root=folder)).ok:
                raise MachineError(f"cannot restore {commit}: {said.problem}", f"look at {folder}")

    def note_root(self, name: str, root: str) -> None:
        """Where the work tree is that these snapshots are of, for who has no record of it."""
        assert self._own is not None
        self._own.write_ref(os.path.join("runs", name, ROOT_FILE), root)

    def read_root(self, name: str) -> str:
        root = self._own.read_ref(os.path.join("runs", name, ROOT_FILE)) if self._own else ""
        return root if os.path.isdir(root) else ""

    def find_blob(self, commit: str, path: str) -> str:
        """The content of a file in a snapshot, by its hash; empty where it has no such file."""
        return "" if self._own is None else list_tree(self._own, commit, [path]).get(path, NO_FILE).blob

    def list_blobs(self, commit: str, paths: Collection[str]) -> dict[str, str]:
        """The content of these files by their hash, as far as the snapshot has them."""
        assert self._own is not None
        some = tuple(paths) if len(paths) <= MAX_PATHS_PER_CALL else ()
        return {path: file.blob for path, file in list_tree(self._own, commit, some).items() if path in paths}

    def open_accepted(self, run: str, task: str = "") -> AcceptedProofs | None:
        """What a person accepted of a run; None where ralph has kept nothing of this folder."""
        return None if self._own is None else AcceptedProofs(locate_accepted(self._own, run, task))

    def restore(self, commit: str, folder: str) -> str:
        """Write its files into a folder, over those that are there; the whole hash."""
        source = ("restore", f"--source={commit}", "--worktree", "--", ":/")
        for git in (self._own, self._project):
            if git is None or not (known := _find_snapshot(git, commit)):
                continue
            said = git.run(*source, root=folder) if isinstance(git, OwnGit) else git.run(*source, GIT_WORK_TREE=folder)
            if not said.ok:
                raise MachineError(f"cannot restore {commit}: {said.problem}", f"look at {folder}")
            return known
        raise NoSuchRun(f"no snapshot {commit!r}", "`ralph show RUN` lists the snapshots of a run")

    def read_tree(self, tree: str) -> "TreeTexts | None":
        """Its files by path; None where ralph has not kept it."""
        from ralph.core.proofs.check_files import TreeTexts  # at the end of a run

        try:
            found = list_tree(self._own, tree) if self._own and tree else {}
        except MachineError:
            return None
        read_blob = OwnObjects(self._own).read_blob if self._own else None
        return TreeTexts({path: file.blob for path, file in found.items()}, read_blob) if found and read_blob else None

    def has_tree(self, tree: str) -> bool:
        return self._own is not None and self._own.run("cat-file", "-e", f"{tree}^{{tree}}").ok

    def write_tree_files(self, tree: str, folder: str) -> None:
        """All files of a tree that ralph's own git has, into an empty folder."""
        assert self._own is not None
        import tempfile  # a run that only keeps snapshots does without

        with tempfile.TemporaryDirectory() as scratch:
            index = os.path.join(scratch, "index")
            for words in (("read-tree", tree), ("checkout-index", "--all")):
                said = self._own.run(*words, index=index, root=folder)
                if not said.ok:
                    raise MachineError(f"cannot write the files of {tree}: {said.problem}", f"look at {folder}")


def find_state_after(kept: Sequence[SnapshotCommit], iteration: int) -> SnapshotCommit | None:
    """An iteration that changed nothing has no snapshot of its own. What a later life of the run found when it began is
    what an iteration left that was cut off, not the start."""
    known = [each for each in kept if each.iteration is not None and each.iteration <= iteration]
    return next((each for each in reversed(known) if each.iteration or each is known[0]), None)


@contextmanager
def open_snapshot_reader(places: Paths, variables: Mapping[str, str]) -> Iterator[SnapshotReader]:
    with open_short_lived_processes() as processes:
        yield SnapshotReader(places, variables, processes)


def list_snapshots(places: Paths, run: str, most: int, variables: Mapping[str, str]) -> tuple[SnapshotCommit, ...]:
    """The oldest first, not more than `most`; none where git knows of none."""
    with open_snapshot_reader(places, variables) as reader:
        return reader.list(run, most)


def find_snapshot_folder(places: Paths, variables: Mapping[str, str]) -> str:
    """Ralph's own git directory of this repository; empty where there is none."""
    project = find_project_dir(places.root) if places.in_git else None
    return find_own_dir(variables, root=places.root, project=project, fallback=places.state)


def read_snapshot_tree(places: Paths, run: str, variables: Mapping[str, str]) -> str:
    """The tree of its newest snapshot; empty where ralph's own git has none. No process is needed for it."""
    project = find_project_dir(places.root) if places.in_git else None
    folder = find_own_dir(variables, root=places.root, project=project, fallback=places.state)
    return read_kept_tree(folder, f"{SNAPSHOT_REFS}/{run}") if folder else ""


def read_accepted_paths(places: Paths, run: str, task: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    """The changed proofs of a run that a person has accepted. No process is needed for it."""
    project = find_project_dir(places.root) if places.in_git else None
    folder = find_own_dir(variables, root=places.root, project=project, fallback=places.state)
    below = ("tasks", task) if task else ("runs", run)
    return tuple(AcceptedProofs(os.path.join(folder, *below)).read()) if folder else ()


def _find_snapshot(git: OwnGit | Git, commit: str) -> str:
    """The whole hash of one of ours; a commit of the user's own is none."""
    said = git.run("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    subject = git.run("log", "-1", "--format=%s", said.text, "--").text if said.ok else ""
    return said.text if subject.startswith("ralph ") and subject.rpartition(": ")[2] else ""


def _parse_log(text: str, run: str) -> tuple[SnapshotCommit, ...]:
    """Up to the first commit that is not ours: what is before it is the user's own history."""
    found, beginning = [], f"ralph {run}: "
    for line in text.splitlines():
        commit, _, rest = line.partition("\0")
        at, _, subject = rest.partition("\0")
        if not subject.startswith(beginning):
            break
        found.append(SnapshotCommit(subject.removeprefix(beginning), commit, int(at)))
    return tuple(reversed(found))
