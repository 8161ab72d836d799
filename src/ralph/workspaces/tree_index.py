"""Looks at a work tree: every file that git would keep, byte for byte, as the hash of one tree.

The index is ours and stays warm from one run to the next, so that a look reads only what has changed. It knows no bits
that tell git to look away. One look serves snapshots, proofs, diffs and landings.
"""

import fcntl
import os
import stat
import weakref
from binascii import crc32
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from ralph.core.own_files import DRAFT_PREFIX
from ralph.core.text.write_error import DISK_ERRORS
from ralph.workspaces.ignore_rules import IgnoreRules
from ralph.workspaces.new_file_limits import choose_left_out, describe_left_out
from ralph.workspaces.own_git import OwnAnswer, OwnGit
from ralph.workspaces.project_dir import ProjectDir
from ralph.workspaces.run_rules import RunRules

MAX_HIDDEN_FILES = 1000  # files that a rule of the agent's would hide
MAX_BAD_NAMES = 100  # of files that git cannot take
_SCAN_WORDS = ("ls-files", "-z", "-t", "--others", "--modified", "--deleted", "--exclude-standard")
_UPDATE_WORDS = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
NOT_OUR_FILES = (
    ":(exclude,top,glob)**/.ralph/*.log",
    ":(exclude,top,glob)**/.ralph/prompt_*.txt",
    f":(exclude,top,glob)**/{DRAFT_PREFIX}*",
)
_BAD_NAME = "Unable to process path "
Stamp = tuple[int, int, int]  # of the index: whether it is the one a tree was written from


class TreeLook(Struct, frozen=True, kw_only=True):
    """What a look found."""

    tree: str = ""  # the hash of all files; empty where nobody can tell
    head: str = ""  # the commit that was checked out
    work_head: str = ""  # the same, but for empty commits since the first look
    problem: str = ""  # what is not in the tree, in words
    disk_error: str = ""  # why nobody can tell, where the disk is full or broken
    hidden: tuple[str, ...] = ()  # files in the tree that only a rule of the agent's ignores


class _Scan(Struct, frozen=True, kw_only=True):
    """What git tells of the work tree, compared with the index."""

    tracked: tuple[bytes, ...] = ()  # only where they were asked for
    changed: tuple[bytes, ...] = ()  # deleted ones among them
    new: tuple[bytes, ...] = ()
    nested: tuple[bytes, ...] = ()  # repositories in the repository


class TreeIndex:
    """Of one work tree, for one run."""

    def __init__(self, own: OwnGit, project: ProjectDir | None, rules: RunRules, *, fresh_index: str = "") -> None:
        """`fresh_index`: one of git's that can be believed, once: nobody has been at it."""
        self._own, self.project, self._rules = own, project, rules
        self._fresh_index = fresh_index
        self._folder = ""
        self._ignored: IgnoreRules | None = None
        self._head = ""  # the commit whose files are all in the index
        self._work_head, self._is_empty_commit = "", False
        self._written: tuple[Stamp | None, str] = (None, "")  # the index, and the tree it is

    def look(self) -> TreeLook:
        """The files as they are now. After a failure the next look begins anew."""
        try:
            return self._look()
        except OSError as error:
            words = f"{error.strerror}: {error.filename or 'the work tree'}"
            return TreeLook(problem=words, disk_error=words if error.errno in DISK_ERRORS else "")

    def _look(self) -> TreeLook:
        self._hold()
        head = self.project.read_head() if self.project else ""
        before = self._head
        named = self._follow_head(head)
        if not self._work_head or (head != before and not self._is_empty_commit):
            self._work_head = head
        scanned = self._scan()
        if isinstance(scanned, OwnAnswer):
            return TreeLook(head=head, problem=scanned.problem, disk_error=scanned.disk_error)
        hidden = self._find_hidden(scanned)
        problem, said = self._update(scanned, (*named, *hidden))
        said = self._write_tree() if said.ok else said
        tree = said.text if said.ok else ""
        self._head = head if tree else ""
        with suppress(OSError):  # the next run looks at all files, then
            self._remember()
        names = tuple(os.fsdecode(name) for name in hidden)
        return TreeLook(
            tree=tree,
            head=head,
            work_head=self._work_head,
            problem=problem or said.problem,
            disk_error=said.disk_error,
            hidden=names,
        )

    # -- the index ------------------------------------------------------------------------------
    @property
    def _index(self) -> str:
        return os.path.join(self._folder, "index")

    def _hold(self) -> None:
        """Ours alone, for as long as we live. Another run in the same work tree makes do with one of its own."""
        if not self._folder:
            root = self._own.root
            shared = self._own.path("work", f"{os.path.basename(root)[:40]}-{crc32(os.fsencode(root)):08x}")
            self._folder = shared if self._lock(shared) else self._rules.folder
            os.makedirs(self._folder, exist_ok=True)
            self._recall()
        if os.path.exists(f"{self._index}.lock"):  # of a git that was stopped half-way
            os.unlink(f"{self._index}.lock")

    def _lock(self, folder: str) -> bool:
        os.makedirs(folder, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _recall(self) -> None:
        """What an earlier run left: its index, and which tree and commit that is."""
        try:
            with open(os.path.join(self._folder, "seen"), encoding="utf-8", errors="surrogateescape") as file:
                root, head, tree, *stamp = file.read().split("\0")
        except (OSError, ValueError):
            return
        now = self._read_stamp()
        if root == self._own.root and now is not None and [str(part) for part in now] == stamp:
            self._head, self._written = head, (now, tree)

    def _remember(self) -> None:
        stamp, tree = self._written
        fields = (self._own.root, self._head, tree, *(str(part) for part in stamp or ()))
        with open(os.path.join(self._folder, "seen"), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\0".join(fields))

    def _read_stamp(self) -> Stamp | None:
        try:
            found = os.stat(self._index)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size

    def _run(self, *words: str, stdin: bytes = b"", own_objects: bool = True) -> OwnAnswer:
        options = ("-c", f"core.excludesFile={self._rules.exclude_file}")
        return self._own.run(*options, *words, stdin=stdin, index=self._index, own_objects=own_objects)

    def list_untracked(self) -> list[str]:
        """All that is there and not in the tree; a folder in which nothing is ends with a slash."""
        said = self._run("ls-files", "-z", "--others", "--directory", "--no-empty-directory")
        if not said.ok:
            raise said.build_error(f"cannot list the files of {self._own.root}")
        return [os.fsdecode(name) for name in said.output.split(b"\0") if name]

    def import_commit(self, commit: str) -> str:
        """Its tree as ours; empty where the project does not have it."""
        self._hold()
        index = os.path.join(self._folder, f"import-{os.urandom(4).hex()}")
        try:
            said = self._own.run("read-tree", commit, index=index)
            if said.ok:
                said = self._own.run("write-tree", "--missing-ok", index=index, own_objects=True)
            if said.disk_error:  # no word about whether the project has it
                raise said.build_error(f"cannot keep the files of {commit}")
            return said.text if said.ok else ""
        finally:
            if os.path.exists(index):
                os.unlink(index)

    def write_changed_tree(self, tree: str, entries: bytes) -> str:
        """The tree with these entries, each as `git update-index --index-info` reads it."""
        self._hold()
        index = os.path.join(self._folder, f"changed-{os.urandom(4).hex()}")
        try:
            said = self._own.run("read-tree", tree, index=index, own_objects=True)
            if said.ok:
                said = self._own.run("update-index", "-z", "--index-info", stdin=entries, index=index, own_objects=True)
            if said.ok:
                said = self._own.run("write-tree", "--missing-ok", index=index, own_objects=True)
            if not said.ok:
                raise said.build_error("cannot write a tree for the checks")
            return said.text
        finally:
            if os.path.exists(index):
                os.unlink(index)

    def remove(self) -> None:
        """Nobody will look again."""
        for name in os.listdir(self._folder) if self._folder else ():
            os.unlink(os.path.join(self._folder, name))

    # -- what is committed ----------------------------------------------------------------------
    def _follow_head(self, head: str) -> list[bytes]:
        """The files that were committed since the last look, ignored or not; those no longer committed may be."""
        self._is_empty_commit = False
        if self._written[0] is None or (self.project and not self._head):
            self._fill(head)
            return []
        if head == self._head or not head:
            return []
        said = self._run("diff-tree", "-r", "-z", "--name-status", "--no-renames", self._head, head, own_objects=False)
        if not said.ok:  # the commit is gone
            self._fill(head)
            return []
        self._is_empty_commit = not said.output
        words = said.output.split(b"\0")
        changes = list(zip(words[::2], words[1::2], strict=False))
        if gone := [name for kind, name in changes if kind == b"D"]:
            self._run("update-index", "-z", "--force-remove", "--stdin", stdin=b"\0".join(gone))
        return [name for kind, name in changes if kind == b"A" and os.path.lexists(self._locate(name))]

    def _fill(self, head: str) -> None:
        """All that is committed, compared with the files once."""
        if os.path.exists(self._index):
            os.unlink(self._index)
        self._written = (None, "")
        if self._fresh_index:
            _copy_index(self._fresh_index, self._index)
        elif head and self._run("read-tree", head, own_objects=False).ok:
            self._run("update-index", "-q", "--refresh")

    # -- what is there --------------------------------------------------------------------------
    def _scan(self) -> _Scan | OwnAnswer:
        if problem := self._rules.find_problem():
            return OwnAnswer(1, b"", problem)
        said = self._run(*_SCAN_WORDS, *(() if self._ignored else ("--cached",)))
        if not said.ok:
            return said
        found = _parse_scan(said.output)
        is_borrowed, self._fresh_index = bool(self._fresh_index), ""
        if is_borrowed and any(name.rpartition(b"/")[2] == b".gitattributes" for name in found.tracked):
            self._fill(self.project.read_head() if self.project else "")  # files may not be as they were committed
            return self._scan()
        if self._ignored is None:
            self._ignored = self._rules.open(found.tracked)
        return found

    def _find_hidden(self, scanned: _Scan) -> list[bytes]:
        """New files beside tracked ones that are ignored now and would not have been when the run began."""
        if self._ignored is None or not self._ignored.have_changed():
            return []
        words = ("ls-files", "-z", "--others", "--directory", "--no-empty-directory")
        said = self._run(*words, f"--exclude-from={self._rules.write_all(self._ignored)}")
        known = {*scanned.new, *scanned.nested}
        found = [name for name in said.output.split(b"\0") if name and not name.endswith(b"/") and name not in known]
        return found[:MAX_HIDDEN_FILES]

    def _update(self, scanned: _Scan, named: Sequence[bytes]) -> tuple[str, OwnAnswer]:
        """Take into the index what has changed; what could not be taken, in words."""
        new = {name: self._read_size(name) for name in (*scanned.new, *named)}
        left_out = choose_left_out(new) | dict.fromkeys(scanned.nested, "a repository of its own")
        wanted = [*scanned.changed, *(name for name in new if name not in left_out)]
        odd = [name for name in wanted if not self._is_takeable(name)]
        if odd:
            left_out |= dict.fromkeys(odd, "cannot be read")
            self._run("update-index", "-z", "--force-remove", "--stdin", stdin=b"\0".join(odd))
            wanted = [name for name in wanted if name not in left_out]
        said = self._take(wanted, left_out)
        return describe_left_out(left_out), said

    def _take(self, wanted: Sequence[bytes], left_out: dict[bytes, str]) -> OwnAnswer:
        said = OwnAnswer(0, b"")
        for _ in range(MAX_BAD_NAMES):
            names = [name for name in wanted if name not in left_out]
            if not names:
                break
            said = self._run(*_UPDATE_WORDS, stdin=b"\0".join(names))
            bad = said.complaint.rpartition(_BAD_NAME)[2].strip() if _BAD_NAME in said.complaint else ""
            if said.ok or os.fsencode(bad) not in names:
                break
            left_out[os.fsencode(bad)] = "git cannot take it"
        return said

    def _write_tree(self) -> OwnAnswer:
        stamp = self._read_stamp()
        if stamp is not None and self._written[0] == stamp:
            return OwnAnswer(0, self._written[1].encode())
        said = self._run("write-tree", "--missing-ok")
        self._written = (self._read_stamp(), said.text) if said.ok else (None, "")
        return said

    def _locate(self, name: bytes) -> str:
        return os.path.join(self._own.root, os.fsdecode(name))

    def _read_size(self, name: bytes) -> int:
        try:
            return os.lstat(self._locate(name)).st_size
        except OSError:
            return 0  # gone since

    def _is_takeable(self, name: bytes) -> bool:
        """Also what is gone: it is taken out."""
        path = self._locate(name)
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            return True
        return stat.S_ISLNK(mode) or stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and os.access(path, os.R_OK))


def _copy_index(source: str, target: str) -> None:
    """With its time: git reads again what was written later than that."""
    with open(source, "rb") as read, open(target, "wb") as written:
        written.write(read.read())
    found = os.stat(source)
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _parse_scan(output: bytes) -> _Scan:
    by_kind: dict[bytes, list[bytes]] = {}
    for entry in output.split(b"\0"):
        by_kind.setdefault(entry[:1], []).append(entry[2:])
    new = [name for name in by_kind.get(b"?", ()) if not is_our_file(os.fsdecode(name))]
    return _Scan(
        tracked=tuple(by_kind.get(b"H", ())),
        changed=tuple(dict.fromkeys((*by_kind.get(b"R", ()), *by_kind.get(b"C", ())))),
        new=tuple(name for name in new if not name.endswith(b"/")),
        nested=tuple(name for name in new if name.endswith(b"/")),
    )


def is_our_file(name: str) -> bool:
    """The same as NOT_OUR_FILES says to git."""
    folder, _, file = f"/{name}".rpartition("/")
    if file.startswith(DRAFT_PREFIX):
        return True
    return folder.endswith("/.ralph") and (file.endswith(".log") or file[:7] + file[-4:] == "prompt_.txt")
