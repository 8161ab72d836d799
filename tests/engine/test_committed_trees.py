"""The trees of a run whose checks look at what is committed: another keeper's, but for which tree is now."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from ralph.engine.committed_trees import CommittedTrees
from ralph.model.errors import MachineError
from ralph.model.ports import SealedTree
from support.tree_keeper import MemoryKeeper, SealedFolder


class AskedKeeper(MemoryKeeper):
    """Remembers what it is asked for, and what is committed."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, {"calc.py": "x\n"})
        self.committed = "committed"
        self.is_blind = False
        self.asked: list[object] = []

    def tree(self) -> str:
        return "" if self.is_blind else super().tree()

    def save_initial_tree(self) -> str:
        return "could not be saved"

    def write_committed_tree(self, apart_from: str = "") -> str:
        self.asked.append(apart_from)
        if not self.committed:
            raise MachineError("nothing is committed")
        return self.committed

    def open_sealed_tree(
        self, restored: Sequence[str], *, is_committed: bool = False, apart_from: str = ""
    ) -> AbstractContextManager[SealedTree]:
        self.asked.append((tuple(restored), is_committed, apart_from))
        return self._nothing()

    @contextmanager
    def _nothing(self) -> Iterator[SealedTree]:
        yield SealedFolder({})


@pytest.fixture
def keeper(tmp_path: Path) -> AskedKeeper:
    return AskedKeeper(tmp_path)


def test_the_tree_is_the_one_that_is_committed_as_last_looked_at(keeper: AskedKeeper) -> None:
    trees = CommittedTrees(keeper, "loop")
    assert trees.tree() == ""
    assert (trees.save_initial_tree(), trees.tree()) == ("could not be saved", "committed")
    found = [trees.is_work_tree]
    keeper.committed = "before"
    assert (trees.save_tree_after(3), trees.tree(), keeper.looks) == ("", "before", [3])
    assert [*found, trees.is_work_tree] == [False, True]
    assert keeper.asked == ["loop", "loop"]


def test_a_keeper_that_could_not_look_has_no_tree(keeper: AskedKeeper) -> None:
    trees = CommittedTrees(keeper, "")
    trees.save_initial_tree()
    keeper.is_blind = True
    trees.save_tree_after(1)
    assert trees.tree() == ""


def test_following_takes_what_is_committed_and_before_the_first_commit_the_files_on_disk(keeper: AskedKeeper) -> None:
    trees = CommittedTrees(keeper, "")
    trees.follow()
    assert trees.tree() == "committed"
    keeper.committed = ""
    keeper.write({"calc.py": "y\n"})
    trees.follow()
    assert trees.tree() == "now"


def test_trees_are_compared_as_asked(keeper: AskedKeeper) -> None:
    trees = CommittedTrees(keeper, "")
    keeper.write({"calc.py": "y\n"})
    assert trees.list_changes("before", "now") == keeper.list_changes("before", "now")
    assert trees.diff("before", "now", ["calc.py"]) == "diff of calc.py\n"


def test_a_copy_is_of_what_is_committed_apart_from_the_loops_folder(keeper: AskedKeeper) -> None:
    trees = CommittedTrees(keeper, "loop")
    with trees.open_sealed_tree(["calc.py"]), trees.open_sealed_tree((), is_committed=False, apart_from="other"):
        assert keeper.asked == [(("calc.py",), True, "loop"), ((), False, "other")]
    keeper.asked.clear()
    trees.write_committed_tree()
    trees.write_committed_tree("other")
    assert keeper.asked == ["loop", "other"]
