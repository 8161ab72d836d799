"""Git, asked through the process layer, by argv, with nobody there to type."""

import fcntl
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise

from ralph.core.environment import without_git_vars
from ralph.core.text.write_error import DISK_HINT, names_disk_error
from ralph.model.command import GUARDIAN_KILLED, Command
from ralph.model.errors import DiskError, MachineError
from ralph.model.ports import GitResult, Processes
from ralph.process.output import Excerpt
from ralph.workspaces.git_guard import NO_PROGRAMS, GitGuard, SettingsListing, list_changed_programs, parse_settings
from ralph.workspaces.project_dir import find_common_dir, find_git_dir, find_project_dir
from ralph.workspaces.tree_objects import SUBMODULE_MODE

GIT_TIMEOUT_SECONDS = 300.0
_PLAIN_CHANGES = ("--no-renames", "--ignore-submodules=dirty")
_QUIET_VARIABLES = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_MERGE_AUTOEDIT": "no", "GIT_PAGER": "cat"}
_TRUE_OBJECTS = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": f"{os.devnull}/none",
}  # whatever an agent would put before them
_READS_FILES = frozenset(  # and so may run filters and drivers
    "add apply cat-file checkout cherry-pick commit diff diff-files diff-index ls-files merge pull rebase reset restore"
    " stash status switch worktree".split()
)
_READING_COMMANDS = frozenset(
    "cat-file check-ignore config diff diff-tree for-each-ref log ls-files ls-tree merge-base rev-list rev-parse show"
    " status".split()
)
_FATAL_EXIT_CODE = 128  # git's own exit code where it cannot work
PLAIN_DIFF = ("--no-ext-diff", "--no-textconv", "--no-color")
_RALPH_IDENTITY = {f"GIT_{who}_{what}": "ralph" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Git:
    """One repository, seen from one folder. `common`: the folder all its work trees share, to take turns at.
    `options` stand before every subcommand.

    It runs no hook, and no filter or driver but those that `guard` knows from before any agent ran. `is_users`: what it
    does the user wants done as if by hand, so hooks and settings hold as they were when the guard looked."""

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
        guard: GitGuard | None = None,
        is_users: bool = False,
        has_hooks: bool = False,
        git_dir: str = "",
    ) -> None:
        """`has_hooks`: it runs the hooks that the guard knows. `git_dir`: where it is known better than by `.git`,
        which an agent may have written."""
        self._program, self.folder = program, folder
        self._common = common or folder
        self._environment = {**without_git_vars(environment), **_QUIET_VARIABLES, **_TRUE_OBJECTS}
        self._processes = processes
        self._options, self._timeout = options, timeout
        self._guard, self._is_users = guard, is_users
        self._has_hooks, self._git_dir = has_hooks, git_dir

    def in_folder(self, folder: str, git_dir: str = "") -> "Git":
        """The same, from another folder."""
        return self._copy(folder, {}, git_dir=git_dir)

    def with_guard(self) -> "Git":
        """The same, with settings and hooks as they are now for all time to come."""
        root = find_root(self.folder)
        listing = self._list_settings()
        return self._copy(self.folder, {}, guard=GitGuard(find_project_dir(root) if root else None, root, listing))

    def with_hooks(self) -> "Git":
        """The same, with the user's hooks, as long as nobody has changed them."""
        return self._copy(self.folder, {}, has_hooks=True)

    @property
    def guard(self) -> GitGuard:
        """Made where there is none: one that trusts nobody."""
        if self._guard is None:
            root = find_root(self.folder)
            self._guard = GitGuard(find_project_dir(root) if root else None, root, None)
        return self._guard

    def through(self, processes: Processes) -> "Git":
        """The same, by other processes."""
        return self._copy(self.folder, {}, processes=processes)

    def with_identity(self) -> "Git":
        """The same, under a name of our own where the user has told git none: nobody else could commit."""
        return self if self.run("var", "GIT_COMMITTER_IDENT").ok else self.as_ralph()

    def as_ralph(self) -> "Git":
        """The same, under a name of our own."""
        return self._copy(self.folder, _RALPH_IDENTITY)

    def with_options(self, *options: str) -> "Git":
        """The same, with these before every subcommand."""
        return self._copy(self.folder, {}, options)

    def _copy(
        self,
        folder: str,
        variables: Mapping[str, str],
        options: Sequence[str] = (),
        *,
        guard: GitGuard | None = None,
        has_hooks: bool = False,
        git_dir: str = "",
        processes: Processes | None = None,
    ) -> "Git":
        return Git(
            self._program,
            folder,
            environment={**self._environment, **variables},
            processes=processes or self._processes,
            common=self._common,
            options=(*self._options, *options),
            timeout=self._timeout,
            guard=guard or self._guard,
            is_users=self._is_users,
            has_hooks=has_hooks or self._has_hooks,
            git_dir=git_dir or (self._git_dir if folder == self.folder else ""),
        )

    def run(self, *words: str, **variables: str) -> GitResult:
        """Run it; failing is an answer too."""
        environment = {**self._environment, **self._find_place(), **self._choose_settings(words), **variables}
        if self._is_git and looks_into_submodules(words):
            environment["GIT_OPTIONAL_LOCKS"] = "0"  # there is a hook for whoever writes an index
            if problem := self._find_submodule_program(environment):
                return GitResult(_FATAL_EXIT_CODE, "", problem)
        return self._run((*self._options, *(keep_out_of_submodules(words) if self._is_git else words)), environment)

    def _run(self, words: Sequence[str], environment: Mapping[str, str]) -> GitResult:
        if problem := _find_redirection(self._common):
            return GitResult(_FATAL_EXIT_CODE, "", problem)
        argv = (self._program, *words)
        command = Command(argv=argv, environment=environment, cwd=self.folder, timeout=self._timeout)
        for _ in range(2):
            output, errors = Excerpt(1 << 22, 1 << 16), Excerpt(1 << 14, 1 << 14)
            exited = self._processes.run(command, output.write, errors.write)
            if exited.error != GUARDIAN_KILLED or not _is_reading(words):
                break  # else half an answer would count as the whole
        return GitResult(exited.code, output.text(), exited.error or errors.text())

    @property
    def _is_git(self) -> bool:
        return os.path.basename(self._program) in ("git", "git.exe")

    def _find_submodule_program(self, environment: Mapping[str, str]) -> str:
        """Git looks into submodules by another git, which heeds their settings and none of ours; empty: it may."""
        root = environment.get("GIT_WORK_TREE") or find_root(self.folder)
        listed = self._run(("ls-files", "--stage", "-z", "--full-name", "--", ":/"), environment)
        names = [each.partition("\t")[2] for each in listed.output.split("\0") if each.startswith(SUBMODULE_MODE)]
        folders = [name for name in names if os.path.lexists(os.path.join(root, name, ".git"))]
        known = self._guard.trusted_values if self._guard else {}
        for name in folders:
            place = _name_place(os.path.join(root, name, ".git"), os.path.join(root, name))
            said = self._run(("config", "--list", "--null", "--show-origin"), {**self._environment, **place})
            if not said.ok:
                return f"{name} is no repository that git can read"
            if found := list_changed_programs(known, parse_settings(said.output).values):
                return f"{name} is a repository of its own, and its settings name programs: {', '.join(found)}"
        return ""

    def _find_place(self) -> dict[str, str]:
        """The very repository: a setting could name another work tree. What the user chose is the user's affair."""
        if self._git_dir:
            return _name_place(self._git_dir, self.folder)
        root = "" if self._is_users else find_root(self.folder)
        return _name_place(find_git_dir(root), root) if root else {}

    def _choose_settings(self, words: Sequence[str]) -> dict[str, str]:
        """As variables: the name of a filter may hold whatever an agent likes."""
        if self._is_users and self._guard is None:
            return {}
        chosen = [] if self._is_users else [*NO_PROGRAMS]
        if self._is_users or self._has_hooks:
            chosen.append(("core.hooksPath", self.guard.choose_hooks_dir()))
        if (self._is_users or not _READS_FILES.isdisjoint(words[:8])) and self.guard.has_repository:
            chosen += self.guard.list_overrides(self._list_settings)
        known = int(self._environment.get("GIT_CONFIG_COUNT") or 0)
        pairs = {
            f"GIT_CONFIG_{what}_{number}": text
            for number, pair in enumerate(chosen, known)
            for what, text in zip(("KEY", "VALUE"), pair, strict=True)
        }
        return {**pairs, "GIT_CONFIG_COUNT": str(known + len(chosen))}

    def find_detour(self) -> str:
        """Settings that might lead a push elsewhere than before, in words; empty where there are none."""
        return ", ".join(self.guard.list_misleading(self._list_settings)) if self._guard else ""

    def _list_settings(self) -> SettingsListing:
        """To list them runs nothing."""
        said = self._run(("config", "--list", "--null", "--show-origin"), {**self._environment, **self._find_place()})
        return parse_settings(said.output)

    def check(self, *words: str) -> str:
        """Run what must succeed; what it printed."""
        return self._require_ok(self.run(*words), words)

    def run_locked(self, *words: str) -> GitResult:
        """The same as `run`, for work trees and branches come and go: git trips over another of itself that removes
        a folder or locks a file it needs. Whoever else does this waits, in this process or another."""
        with _repo_lock(self._common):
            return self.run(*words)

    def add_worktree(self, folder: str, *words: str) -> None:
        """A checkout of its own. A hook of the user's may fail after it is there; that does not undo it. What git still
        knows of a folder that is gone is in its way."""
        for is_last in (False, True):
            said = self.run_locked("worktree", "add", "--quiet", *words)
            if said.ok or os.path.exists(os.path.join(folder, ".git")):
                return
            if is_last:
                self._require_ok(said, ("worktree", "add"))
            self.run_locked("worktree", "prune")

    def drop_worktree(self, folder: str) -> None:
        """A checkout nobody needs, whatever state it is in; also one that was never finished."""
        if not os.path.lexists(folder):
            return
        self.run_locked("worktree", "remove", "--force", "--force", folder)  # twice: even if it is locked
        if os.path.lexists(folder):
            import shutil  # a run that only keeps snapshots does without

            shutil.rmtree(folder, ignore_errors=True)
            self.run_locked("worktree", "prune")

    def _require_ok(self, said: GitResult, words: tuple[str, ...]) -> str:
        if not said.ok:
            failed = f"git {' '.join(words[:2])} failed: {said.problem}"
            if names_disk_error(said.complaint):
                raise DiskError(failed, DISK_HINT)
            raise MachineError(failed, f"look at it in {self.folder}")
        return said.text

    def find_commit(self, name: str) -> str:
        """The commit a name stands for; empty when there is none."""
        said = self.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return said.text if said.ok else ""

    def read_branch(self) -> str:
        """The branch that is checked out; empty when none is."""
        said = self.run("symbolic-ref", "--quiet", "--short", "HEAD")
        return said.text if said.ok else ""

    def find_commits(self, *refs: str) -> dict[str, str]:
        """The commits of these refs, by their full names, as far as there are any."""
        said = self.run("for-each-ref", "--format=%(refname) %(objectname)", *refs)
        found = (line.rpartition(" ") for line in said.text.splitlines())
        return {ref: commit for ref, _, commit in found if ref in refs}

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

    def list_commit_changes(self, before: str, after: str) -> dict[str, str]:
        """The paths that differ between two commits, with the mode of the later one."""
        words = self._check_bytes("diff-tree", "-r", "--raw", "--no-renames", "-z", before, after).split(b"\0")
        pairs = zip(words[::2], words[1::2], strict=False)
        return {os.fsdecode(path): head.decode("ascii").split(" ")[1] for head, path in pairs}

    def read_committed_file(self, commit: str, path: str) -> bytes | None:
        """As a checkout would write it: through the filters that were there before; None where it cannot be had."""
        code, content, _ = self._run_bytes(("cat-file", "--filters", f"{commit}:{path}"))
        return content if code == 0 else None

    def list_ignored(self, paths: Sequence[str]) -> set[str]:
        """Which of these files git would not take."""
        names = b"\0".join(map(os.fsencode, paths))
        said = self._run_bytes(("check-ignore", "-z", "--stdin"), names)[1] if paths else b""
        return {os.fsdecode(path) for path in said.split(b"\0") if path}

    def _check_bytes(self, *words: str) -> bytes:
        code, output, complaint = self._run_bytes(words)
        self._require_ok(GitResult(code, "", complaint), words)
        return output

    def _run_bytes(self, words: Sequence[str], stdin: bytes = b"") -> tuple[int, bytes, str]:
        """All of it as it is: names are not always text."""
        if problem := _find_redirection(self._common):
            return _FATAL_EXIT_CODE, b"", problem
        chunks: list[bytes] = []
        errors = Excerpt(1 << 14, 1 << 14)
        environment = {**self._environment, **self._find_place(), **self._choose_settings(words)}
        argv = (self._program, *self._options, *words)
        command = Command(argv=argv, environment=environment, cwd=self.folder, stdin=stdin, timeout=self._timeout)
        exited = self._processes.run(command, chunks.append, errors.write)
        return exited.code, b"".join(chunks), exited.error or errors.text()

    def diff(self, base: str, index: str) -> str:
        """What has changed since a commit, committed or not, new files included."""
        now = self.hash_tree(index)
        return self.run("diff", *PLAIN_DIFF, base, *((now,) if now else ())).output

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


def looks_into_submodules(words: Sequence[str]) -> bool:
    """`add` and `commit -a` do, whatever they are told."""
    action = next((word for word in words if not word.startswith("-") and "=" not in word), "")
    takes_all = any(re.fullmatch(r"--all|--update|-[a-zA-Z]*[aAu][a-zA-Z]*", word) for word in words)
    return action in ("add", "commit") and takes_all


def keep_out_of_submodules(words: Sequence[str]) -> Sequence[str]:
    """What only looks compares their commits, and leaves alone what is checked out there."""
    at = next((at for at, word in enumerate(words) if word in ("status", "diff", "diff-files", "diff-index")), None)
    if at is None or any(word.startswith("--ignore-submodules") for word in words):
        return words
    return (*words[: at + 1], "--ignore-submodules=dirty", *words[at + 1 :])


def _name_place(git_dir: str, root: str) -> dict[str, str]:
    return {"GIT_DIR": git_dir, "GIT_WORK_TREE": root}


def _find_redirection(folder: str) -> str:
    """A file in a main checkout's git directory that leads git to settings and hooks of another, in a sentence. Git
    never writes one there, and nothing on the command line overrides it."""
    root = find_root(folder)
    git_dir = find_git_dir(root) if root else ""
    path = os.path.join(git_dir, "commondir")
    is_led_astray = bool(root) and find_common_dir(git_dir) == git_dir and os.path.lexists(path)
    return f"{path} leads git to another repository: delete that file" if is_led_astray else ""


def find_root(folder: str) -> str:
    """Of the work tree around that folder; empty where there is none."""
    at = os.path.realpath(folder)
    while find_project_dir(at) is None:
        at, below = os.path.dirname(at), at
        if at == below:
            return ""
    return at


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


def _is_reading(words: Sequence[str]) -> bool:
    """Whether it can be asked again; `config` is never written by us."""
    plain = (word for before, word in pairwise(("", *words)) if before != "-c" and not word.startswith("-"))
    return next(plain, "") in _READING_COMMANDS
