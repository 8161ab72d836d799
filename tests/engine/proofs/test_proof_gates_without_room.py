"""Checks of what is committed: a disk that fails says nothing about them."""

from pathlib import Path

import pytest

from ralph.engine.committed_trees import CommittedTrees
from ralph.engine.gate_run import GateRunner
from ralph.engine.proofs.proof_gates import ProofGates
from ralph.model.errors import DiskError
from ralph.model.loop import Checked, GateResult
from ralph.model.ports import Evidence
from support.quiet_inbox import QuietInbox
from support.tree_keeper import MemoryKeeper

GREEN = Checked((GateResult(gate="test", passed=True),))


class GreenGate:
    title = "test"

    def check(self, evidence: Evidence) -> GateResult:
        return GREEN.results[0]


@pytest.fixture
def keeper(tmp_path: Path) -> MemoryKeeper:
    return MemoryKeeper(tmp_path, {"a.py": "x\n"})


@pytest.fixture
def gates(keeper: MemoryKeeper, inbox: QuietInbox) -> ProofGates:
    runner = GateRunner({"test": GreenGate()}, folder=keeper.root, environment={}, inbox=inbox, watchers=())
    return ProofGates(runner, committed=CommittedTrees(keeper, ""), open_committed=lambda _: runner)


def test_what_is_committed_is_checked(gates: ProofGates) -> None:
    assert gates.check(("test",), 1) == GREEN


def test_a_tree_that_cannot_be_written_is_a_failed_check(gates: ProofGates, keeper: MemoryKeeper) -> None:
    keeper.is_broken = True
    checked = gates.check(("test",), 1)
    assert isinstance(checked, Checked)
    assert [(each.passed, each.reason) for each in checked.results] == [(False, "objects are gone")]


def test_a_tree_that_finds_no_room_is_none(gates: ProofGates, keeper: MemoryKeeper) -> None:
    keeper.is_broken = keeper.is_disk_full = True
    with pytest.raises(DiskError):
        gates.check(("test",), 1)


def test_nothing_committed_yet_is_not_what_a_full_disk_means(keeper: MemoryKeeper) -> None:
    trees = CommittedTrees(keeper, "")
    keeper.is_broken = True
    trees.follow()
    assert trees.tree() == keeper.tree()
    keeper.is_disk_full = True
    with pytest.raises(DiskError):
        trees.follow()
