"""Git, asked through the process layer, by argv, with nobody there to type."""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ralph.core.environment import without_git_vars
from ralph.model.command import Command
from ralph.model.errors import MachineError
from ralph.model.ports import GitResult, Processes
from ralph.process.output import Excerpt

GIT_TIMEOUT_SECONDS = 300.0
_PLAIN_CHANGES = ("--no-renames", "--ignore-submodules=dirty")
_QUIET_VARIABLES = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_MERGE_AUTOEDIT": "no"}
_RALPH_IDENTITY = {f"GIT_{who}_{what}": "ralph" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Git:
    """One repository, seen from one folder. `common`: the folder all its work trees share, to take turns at.
    `options` stand before every subcommand."""

    def __init__(
        self,
        program: str,
        folder: str,
        *,
        environment: Mapping[str, str],
        processes: Processes,
        common: str = "",
        options: Sequence[str] = (),
        timeout: float = GIT_TIMEOUT_SECONDS,
    ) -> None:
        self._program, self.folder = program, folder
        self._common = common or folder
        self._environment = {**without_git_vars(environment), **_QUIET_VARIABLES}
        self._processes = processes
        self._options, self._timeout = options, timeout

    def in_folder(self, folder: str) -> "Git":
        """The same, from another folder."""
        return self._copy(folder, {})

    def with_identity(self) -> "Git":
        """The same, under a name of our own where the user has told git none: nobody else could commit."""
        return self if self.run("var", "GIT_COMMITTER_IDENT").ok else self.as_ralph()

    def as_ralph(self) -> "Git":
        """The same, under a name of our own."""
        return self._copy(self.folder, _RALPH_IDENTITY)

    def with_options(self, *options: str) -> "Git":
        """The same, with these before every subcommand."""
        return self._copy(self.folder, {}, options)

    def _copy(self, folder: str, variables: Mapping[str, str], options: Sequence[str] = ()) -> "Git":
        return Git(
            self._program,
            folder,
            environment={**self._environment, **variables},
            processes=self._processes,
            common=self._common,
            options=(*self._options, *options),
            timeout=self._timeout,
        )

    def run(self, *words: str, **variables: str) -> GitResult:
        """Run it; failing is an answer too."""
        output, errors = Excerpt(1 << 22, 1 << 16), Excerpt(1 << 14, 1 << 14)
        environment = {**self._environment, **variables}
        argv = (self._program, *self._options, *words)
        command = Command(argv=argv, environment=environment, cwd=self.folder, timeout=self._timeout)
        exited = self._processes.run(command, output.write, errors.write)
        return GitResult(exited.code, output.text(), exited.error or errors.text())

    def check(self, *words: str) -> str:
        """Run what must succeed; what it printed."""
        return self._require_ok(self.run(*words), words)

    def run_locked(self, *words: str) -> GitResult:
        """The same as `run`, for work trees and branches come and go: git trips over another of itself that removes
        a folder or locks a file it needs. Whoever else does this waits, in this process or another."""
        with _repo_lock(self._common):
            return self.run(*words)

    def add_worktree(self, folder: str, *words: str) -> None:
        """A checkout of its own. A hook of the user's may fail after it is there; that does not undo it."""
        said = self.run_locked("worktree", "add", "--quiet", *words)
        if not said.ok and not os.path.exists(os.path.join(folder, ".git")):
            self._require_ok(said, ("worktree", "add"))

    def drop_worktree(self, folder: str) -> None:
        """A checkout nobody needs, whatever state it is in; also one that was never finished."""
        self.run_locked("worktree", "remove", "--force", "--force", folder)  # twice: even if it is locked
        if os.path.lexists(folder):
            import shutil  # a run that only keeps snapshots does without

            shutil.rmtree(folder, ignore_errors=True)
            self.run_locked("worktree", "prune")

    def _require_ok(self, said: GitResult, words: tuple[str, ...]) -> str:
        if not said.ok:
            raise MachineError(f"git {' '.join(words[:2])} failed: {said.problem}", f"look at it in {self.folder}")
        return said.text

    def find_commit(self, name: str) -> str:
        """The commit a name stands for; empty when there is none."""
        said = self.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return said.text if said.ok else ""

    def read_branch(self) -> str:
        """The branch that is checked out; empty when none is."""
        said = self.run("symbolic-ref", "--quiet", "--short", "HEAD")
        return said.text if said.ok else ""

    def contains(self, target: str, commit: str) -> bool:
        """Whether the commit is reachable from the target."""
        return self.run("merge-base", "--is-ancestor", commit, target).ok

    def has_changes(self) -> bool:
        """Whether there is anything that is not committed, new files included."""
        said = self.run("status", "--porcelain", "--untracked-files=normal")
        return not said.ok or bool(said.text)

    def list_changed_files(self) -> list[str]:
        """Files that git knows and that are not as they were committed, from the root of the work tree; of a submodule
        only which commit it is at. Empty where git cannot tell."""
        said = self.run("--no-optional-locks", "status", "--porcelain", "-z", "--untracked-files=no", *_PLAIN_CHANGES)
        return [entry[3:] for entry in said.output.split("\0") if entry] if said.ok else []

    def diff(self, base: str, index: str) -> str:
        """What has changed since a commit, committed or not, new files included."""
        now = self.hash_tree(index)
        return self.run("diff", base, *((now,) if now else ())).output

    def hash_tree(self, index: str) -> str:
        """The hash of all files as they are now, new ones included. `index` is a file of ours to work with."""
        return self.write_tree(index) if self.add_to_index(index, "--all").ok else ""

    def add_to_index(self, index: str, *words: str) -> GitResult:
        """Take files into an index of ours; the user's own stays as it is."""
        if not os.path.exists(index):
            own = self.run("rev-parse", "--path-format=absolute", "--git-path", "index")
            if own.ok:
                _copy_file(own.text, index)  # what has not changed need not be read again
        return self.run("add", *words, GIT_INDEX_FILE=index)

    def write_tree(self, index: str) -> str:
        """The hash of what is in it; empty when that cannot be."""
        said = self.run("write-tree", GIT_INDEX_FILE=index)
        return said.text if said.ok else ""


def _copy_file(source: str, target: str) -> None:
    try:
        with open(source, "rb") as file, open(target, "wb") as copy:
            copy.write(file.read())
    except OSError:
        pass  # there is none yet, or no room for another: slower, not wrong


@contextmanager
def _repo_lock(folder: str) -> Iterator[None]:
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
