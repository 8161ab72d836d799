"""How a task's checks do on the tree its work began with: each once, in a checkout of its own, beside the coder."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.app.pipeline.task_processes import TaskProcesses
from ralph.app.pipeline.verification import build_tools, identify_check, verify_claim
from ralph.core.proofs.suites import detect_test
from ralph.core.text.write_error import DISK_ERRORS, explain_write_error
from ralph.engine.gate_run import WrappedProcesses
from ralph.model.errors import DiskError, MachineError
from ralph.model.ports import Inbox, Processes, TreeKeeper
from ralph.model.proofs import TreeChange
from ralph.model.spec import CompletionCriteria
from ralph.model.verdict import Claim, Verdict
from ralph.workspaces.exported_tree import open_exported_tree
from ralph.workspaces.git import Git
from ralph.workspaces.sealed.tree_copy import put_file
from ralph.workspaces.sealed.untracked import DEPENDENCY_FOLDERS
from ralph.workspaces.tree_objects import SUBMODULE_MODE

BASE_POLL_SECONDS = 0.1
CLOSING_GRACE_SECONDS = 0.5
LEFT_BY_TASK = "the task is over"


class BaseVerdicts:
    """What checks said of trees where tasks began. Tasks that run at once share it: who asks for what another is
    finding out waits for that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        self._found: dict[str, Verdict] = {}

    def recall(self, key: str) -> Verdict | None:
        with self._lock:
            return self._found.get(key)

    def find(self, key: str, look: Callable[[], Verdict | None], inbox: Inbox) -> Verdict | None:
        """What was cut short, or could not be found out, is asked again."""
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        while not turn.acquire(timeout=BASE_POLL_SECONDS):
            if inbox.poll_stop_grace() is not None:
                return _build_interruption()
        try:
            verdict = self.recall(key) or look()
            if verdict is not None and not verdict.interrupted:
                with self._lock:
                    self._found[key] = verdict
            return verdict
        finally:
            turn.release()


class BasePlace(Struct, frozen=True, kw_only=True):
    """Where a task began, and with what its checks are run."""

    git: Git  # of the project, guarded
    commit: str
    folder: str  # the task's work tree
    environment: Mapping[str, str]
    inbox: TaskInbox
    sibling_guardians: set[int]
    contain: Callable[[Processes], Processes] = lambda processes: processes  # into the task's sandbox


class TaskBaseChecks:
    """Implements the port `BaseChecks` for one task. `keeper` knows what the work has changed since."""

    def __init__(self, place: BasePlace, verdicts: BaseVerdicts, keeper: TreeKeeper) -> None:
        self._place, self._verdicts, self._keeper = place, verdicts, keeper
        self._closable_inbox = _ClosableInbox(place.inbox)
        self._pending: dict[str, threading.Event] = {}
        self._thread: threading.Thread | None = None
        self._linked: list[str] = []  # what had been installed when it was looked at first

    def start(self, wanted: Sequence[CompletionCriteria]) -> None:
        """Have them looked at, beside whatever else happens."""
        unknown = {self._key(each): each for each in wanted if self._verdicts.recall(self._key(each)) is None}
        if not unknown:
            return
        self._pending = {key: threading.Event() for key in unknown}
        self._linked = self._list_installed()
        self._thread = threading.Thread(target=self._look_ahead, args=(unknown,), name="base-checks")
        self._thread.start()

    def close(self) -> None:
        """What is still running is stopped."""
        self._closable_inbox.close()
        if self._thread is not None:
            self._thread.join()

    def check(self, criteria: CompletionCriteria) -> Verdict | None:
        key = self._key(criteria)
        if not self._wait_for(key):
            return _build_interruption()
        found = self._verdicts.find(key, lambda: self._look(criteria), self._place.inbox)
        installed = self._list_installed()
        if found is None or found.verified or found.interrupted or installed == self._linked:
            return found
        # It may have failed only for what has been installed since.
        again = f"{key} {' '.join(installed)} {self._place.folder}"
        return self._verdicts.find(again, lambda: self._look(criteria, linked=installed), self._place.inbox)

    def check_with_new_tests(self, criteria: CompletionCriteria) -> Verdict | None:
        tests = self._list_changed_tests()
        if not tests:
            return None
        key = f"{self._key(criteria)} with the tests of {self._keeper.tree()}"
        linked = self._list_installed()
        return self._verdicts.find(key, lambda: self._look(criteria, tests, linked), self._place.inbox)

    def _key(self, criteria: CompletionCriteria) -> str:
        return f"{self._place.commit} {identify_check(criteria)}"

    def _wait_for(self, key: str) -> bool:
        """False: whoever waits is to stop."""
        done = self._pending.get(key)
        while done is not None and not done.wait(BASE_POLL_SECONDS):
            if self._place.inbox.poll_stop_grace() is not None:
                return False
        return True

    def _look_ahead(self, wanted: Mapping[str, CompletionCriteria]) -> None:
        try:
            with self._open_base((), self._linked) as verify:
                for key, criteria in wanted.items():
                    self._verdicts.find(key, lambda each=criteria: verify(each), self._closable_inbox)  # type: ignore[misc]
                    self._pending[key].set()
        except (MachineError, OSError):
            pass  # who needs it tries again, and tells why not
        finally:
            for event in self._pending.values():
                event.set()

    def _look(
        self, criteria: CompletionCriteria, tests: Sequence[TreeChange] = (), linked: Sequence[str] = ()
    ) -> Verdict | None:
        """None: that tree cannot be had."""
        try:
            with self._open_base(tests, linked) as verify:
                return verify(criteria)
        except DiskError:
            raise  # else what was green before would count
        except OSError as error:
            if error.errno in DISK_ERRORS:
                raise explain_write_error("a copy of the files", error) from error
            return None
        except MachineError:
            return None

    @contextmanager
    def _open_base(
        self, tests: Sequence[TreeChange] = (), linked: Sequence[str] = ()
    ) -> Iterator[Callable[[CompletionCriteria], Verdict]]:
        place = self._place
        processes = TaskProcesses(TaskInbox(self._closable_inbox, lambda: False), place.sibling_guardians)
        try:
            git = place.git.through(processes.make_uninterruptible())
            with open_exported_tree(git, place.commit) as folder:
                for change in tests:
                    put_file(folder, change.path, self._keeper.read_blob(change.new_blob), change.new_mode)
                _link_folders(place.folder, folder, linked)
                tools = build_tools(lambda: borrow_contained(processes, place.contain, folder))
                yield lambda criteria: verify_claim(self._build_claim(criteria, folder), criteria, tools)
        finally:
            processes.close()

    def _build_claim(self, criteria: CompletionCriteria, folder: str) -> Claim:
        promise = criteria.promise
        said = f"<promise>{promise}</promise>"
        return Claim(promise=promise, output=said, folder=folder, environment=self._place.environment)

    def _list_changed_tests(self) -> list[TreeChange]:
        before, after = self._keeper.baseline(), self._keeper.tree()
        if not before or not after or before == after:
            return []
        changes = self._keeper.list_changes(before, after)
        return [each for each in changes if _is_file(each) and detect_test(each.path)]

    def _list_installed(self) -> list[str]:
        """Dependencies that are in the task's work tree and not in the user's."""
        root, folder = self._place.git.folder, self._place.folder
        found = [name for name in _list_names(folder) if name in DEPENDENCY_FOLDERS]
        for inner in _list_names(folder):
            below = os.path.join(folder, inner)
            found += [f"{inner}/{name}" for name in _list_names(below) if name in DEPENDENCY_FOLDERS]
        return [name for name in found if not os.path.lexists(os.path.join(root, name))]


class _ClosableInbox:
    """Ends what runs when nobody needs it any more, besides what ends the task itself."""

    def __init__(self, inner: Inbox) -> None:
        self._inner = inner
        self._is_closed = False

    def close(self) -> None:
        self._is_closed = True

    def fileno(self) -> int | None:
        return self._inner.fileno()

    def poll_interruption(self) -> str:
        return LEFT_BY_TASK if self._is_closed else self._inner.poll_interruption()

    def poll_stop_grace(self) -> float | None:
        return CLOSING_GRACE_SECONDS if self._is_closed else self._inner.poll_stop_grace()

    def wait(self, seconds: float) -> None:
        self._inner.wait(seconds)


@contextmanager
def borrow_contained(
    processes: TaskProcesses, contain: Callable[[Processes], Processes], folder: str
) -> Iterator[Processes]:
    """For a check in an exported tree: what that tree links to is there in a sandbox, too."""
    targets = tuple(_list_linked_folders(folder))
    with processes.borrow() as borrowed:
        yield WrappedProcesses(contain(borrowed), lambda each: replace(each, reads=(*each.reads, *targets)))


def _list_linked_folders(folder: str) -> Iterator[str]:
    for place in (folder, *(os.path.join(folder, name) for name in _list_names(folder))):
        with os.scandir(place) as entries:
            links = [entry.path for entry in entries if entry.is_symlink()]
        yield from (target for link in links if (target := os.readlink(link)).startswith("/") and os.path.isdir(target))


def _link_folders(source: str, target: str, names: Sequence[str]) -> None:
    for name in names:
        link = os.path.join(target, name)
        if os.path.isdir(os.path.dirname(link)) and not os.path.lexists(link):
            os.symlink(os.path.join(source, name), link)


def _list_names(folder: str) -> list[str]:
    """Of the folders in it."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name != ".git"]
    except OSError:
        return []


def _is_file(change: TreeChange) -> bool:
    return bool(change.new_blob) and change.new_mode != SUBMODULE_MODE


def _build_interruption() -> Verdict:
    return Verdict(method="base", verified=False, reason="The check of the base was interrupted", interrupted=True)
