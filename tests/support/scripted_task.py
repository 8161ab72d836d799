"""The board, the workspace and the verifier of one task, from a script; each remembers what it was told."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ralph.core.tasks.task_rules import apply_change
from ralph.model.board import Change, Entry
from ralph.model.errors import MachineError
from ralph.model.loop import Landed
from ralph.model.ports import BranchSides
from ralph.model.spec import CompletionCriteria, Role, VerificationAttempt
from ralph.model.verdict import Claim, Verdict


class ScriptedBoard:
    """Implements the port `TaskBoard` in memory, by the same rules as the real one."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self.records: list[tuple[Change, ...]] = []
        self.attempts: dict[Role, Sequence[VerificationAttempt]] = {}
        self.money: float | None = None
        self.reserved = False
        self.charges: list[float | None] = []

    def entry(self) -> Entry:
        return self._entry

    def record(self, *changes: Change) -> None:
        for change in changes:
            self._entry = apply_change(self._entry, change)
        self.records.append(changes)

    def failed_attempts(self, role: Role) -> Sequence[VerificationAttempt]:
        return self.attempts.get(role, ())

    @contextmanager
    def reserve(self, role: str) -> Iterator[float | None]:
        self.reserved = True
        yield self.money
        self.reserved = False

    def charge(self, cost_usd: float | None) -> None:
        self.charges.append(cost_usd)


class ScriptedWorkspace:
    """Implements the port `Workspace`. `merged`: the folder of the merged tree; "": nobody comes to look at it."""

    def __init__(self, folder: str, landed: Landed, merged: str = "") -> None:
        self.folder = folder
        self.hash = "tree-1"
        self.unchanged = "tree-0"
        self._landed, self._merged = landed, merged
        self.landings = 0
        self.trailer = ""
        self.found_wrong = ""
        self.merged_diff = ""  # of a tree that others' work was merged into
        self.moves: list[str] = []  # of the target, by others
        self.checked_in: list[str] = []  # trees it was put back to
        self.undone: tuple[str, ...] = ()  # what a reviewer will have edited
        self.is_reviewed = False
        self.failure: MachineError | None = None  # of each look
        self.set_aside, self.set_aside_count = "", 0  # the diff of instructions, and how often they were put away

    def is_untouched(self, tree: str) -> bool:
        return tree == self.unchanged

    def is_own_commit(self, commit: str) -> bool:
        return True

    def find_target_move(self) -> str:
        return self.moves.pop(0) if self.moves else ""

    def list_sides(self) -> BranchSides:
        return BranchSides(target="main", branch="ralph/T", ours=("a1 Mine",), theirs=("b2 Yours",))

    def name_changes(self, before: str, after: str) -> str:
        return f"{before} and {after}"

    def put_back(self, tree: str) -> str:
        self.checked_in.append(tree)
        self.hash = tree
        return "report.xml"

    def diff(self) -> str:
        return "the diff"

    def diff_landing(self, folder: str) -> str:
        return self.merged_diff

    def is_changed(self, tree: str) -> bool:
        return tree != self.unchanged

    def tree(self) -> str:
        return self.hash

    def look(self) -> str:
        if self.failure:
            raise self.failure
        return self.hash

    def begin_review(self) -> None:
        self.is_reviewed = True

    def undo_review(self) -> tuple[str, ...]:
        undone, self.is_reviewed = self.undone if self.is_reviewed else (), False
        return undone

    @contextmanager
    def set_aside_instructions(self) -> Iterator[str]:
        self.set_aside_count += 1
        yield self.set_aside

    def land(self, verify: Callable[[str], str], trailer: str = "", on_landed: Callable[[str], object] = len) -> Landed:
        self.landings += 1
        self.trailer = trailer
        if self._merged:
            self.found_wrong = verify(self._merged)
        if self._landed.done:
            on_landed(self._landed.commit)
        return self._landed


class ScriptedVerifier:
    """Implements the port `ClaimVerifier`: one verdict for everything."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.claims: list[tuple[Claim, CompletionCriteria]] = []

    def verify(self, claim: Claim, criteria: CompletionCriteria) -> Verdict:
        self.claims.append((claim, criteria))
        return self.verdict
