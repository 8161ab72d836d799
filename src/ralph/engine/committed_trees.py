"""The trees of a run whose checks look at what is committed."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from ralph.model.errors import DiskError, MachineError
from ralph.model.ports import SealedTree, TreeKeeper
from ralph.model.proofs import TreeChange


class CommittedTrees:
    """Implements the port `TreeKeeper` over another: its tree is the one a checkout of the last commit would have.
    `apart_from`: a folder whose files are left as they are."""

    def __init__(self, keeper: TreeKeeper, apart_from: str) -> None:
        self._keeper, self._apart_from = keeper, apart_from
        self._tree = ""

    @property
    def root(self) -> str:
        return self._keeper.root

    @property
    def is_work_tree(self) -> bool:
        """Whether the files on disk are those that are committed."""
        return self._tree == self._keeper.tree()

    def follow(self) -> None:
        """Take what the other one saw last."""
        try:
            self._note_tree("")
        except DiskError:
            raise
        except MachineError:
            self._tree = self._keeper.tree()  # nothing is committed yet

    def save_initial_tree(self) -> str:
        return self._note_tree(self._keeper.save_initial_tree())

    def save_tree_after(self, iteration: int) -> str:
        return self._note_tree(self._keeper.save_tree_after(iteration))

    def save_cut_off_tree(self, iteration: int) -> str:
        return self._keeper.save_cut_off_tree(iteration)

    def get_tree_sign(self) -> str:
        return self._keeper.get_tree_sign()

    def get_work_head(self) -> str:
        return self._keeper.get_work_head()

    def baseline(self) -> str:
        return self._keeper.baseline()

    def tree(self) -> str:
        return self._tree

    def list_changes(self, before: str, after: str) -> Sequence[TreeChange]:
        return self._keeper.list_changes(before, after)

    def read_blob(self, blob: str) -> bytes:
        return self._keeper.read_blob(blob)

    def diff(self, before: str, after: str, paths: Sequence[str] = ()) -> str:
        return self._keeper.diff(before, after, paths)

    def write_committed_tree(self, apart_from: str = "") -> str:
        return self._keeper.write_committed_tree(apart_from or self._apart_from)

    def open_sealed_tree(
        self, restored: Sequence[str], *, is_committed: bool = True, apart_from: str = ""
    ) -> AbstractContextManager[SealedTree]:
        return self._keeper.open_sealed_tree(
            restored, is_committed=is_committed, apart_from=apart_from or self._apart_from
        )

    def _note_tree(self, problem: str) -> str:
        self._tree = self._keeper.write_committed_tree(self._apart_from) if self._keeper.tree() else ""
        return problem
