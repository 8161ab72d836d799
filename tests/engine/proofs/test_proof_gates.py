"""Checks together with what they rest on: compared, put back, judged."""

from pathlib import Path

import pytest

from ralph.engine.committed_trees import CommittedTrees
from ralph.engine.gate_run import GateRunner
from ralph.engine.proofs.proof_gates import AskProofJudge, ProofGates
from ralph.engine.proofs.proof_watch import ProofWatch
from ralph.model.errors import MachineError
from ralph.model.loop import Checked, GateResult, Interrupted, Verified
from ralph.model.ports import Evidence, SealedTree
from ralph.model.proofs import ProofApproval, WorkTime
from support.quiet_inbox import QuietInbox
from support.scripted_processes import Listener
from support.tree_keeper import MemoryKeeper

TEST = "def test_add():\n    assert add(1, 1) == 2\n"
FILES = {"calc.py": "x\n", "test_calc.py": TEST}
WEAKER = TEST.replace("== 2", "== 0")


class ScriptedGate:
    title = "pytest"

    def __init__(self, *, passes: bool = True) -> None:
        self.passes = passes
        self.folders: list[tuple[int, str]] = []

    def check(self, evidence: Evidence) -> GateResult:
        self.folders.append((evidence.iteration, evidence.folder))
        return GateResult(gate=self.title, passed=self.passes, exit_code=0 if self.passes else 1)


class Scene:
    """One gate, in the work tree and in copies of it."""

    def __init__(self, root: Path, inbox: QuietInbox) -> None:
        self.root, self._inbox = root, inbox
        self.keeper = MemoryKeeper(root, FILES)
        self.gate, self.in_copy = ScriptedGate(), ScriptedGate()
        self.watch = ProofWatch(
            self.keeper,
            commands=["pytest"],
            protected=(),
            folder=str(root),
            environment={"PATH": "/nowhere"},
            worked=WorkTime(since=0.0),
            list_accepted=dict,
        )

    def build(
        self, *, is_watched: bool = True, committed: CommittedTrees | None = None, judge: AskProofJudge | None = None
    ) -> ProofGates:
        return ProofGates(
            self._open(self.gate, str(self.root)),
            watch=self.watch if is_watched else None,
            open_sealed=self._open_copy,
            ask_judge=judge,
            committed=committed,
            open_committed=self._open_copy if committed else None,
        )

    def _open(self, gate: ScriptedGate, folder: str) -> GateRunner:
        return GateRunner({"pytest": gate}, folder=folder, environment={}, inbox=self._inbox, watchers=[Listener()])

    def _open_copy(self, sealed: SealedTree) -> GateRunner:
        return self._open(self.in_copy, sealed.locate(str(self.root)))


@pytest.fixture
def scene(tmp_path: Path, inbox: QuietInbox) -> Scene:
    return Scene(tmp_path, inbox)


def check(gates: ProofGates) -> Checked:
    found = gates.check(("pytest",), 4)
    assert isinstance(found, Checked)
    return found


def test_green_checks_come_with_what_is_not_as_it_was(scene: Scene) -> None:
    scene.keeper.write({"test_calc.py": WEAKER})
    found = check(scene.build())
    assert [(each.gate, each.passed) for each in found.results] == [("pytest", True)]
    assert [change.path for change in found.proofs] == ["test_calc.py"]
    assert (scene.gate.folders, scene.keeper.looks) == ([(4, str(scene.root))], [4])


def test_red_checks_and_checks_of_nobody_are_not_compared(scene: Scene) -> None:
    scene.keeper.write({"test_calc.py": WEAKER})
    assert check(scene.build(is_watched=False)).proofs == ()
    scene.gate.passes = False
    assert (check(scene.build()).proofs, scene.keeper.looks) == ((), [])


def test_an_interruption_is_no_result(scene: Scene, inbox: QuietInbox) -> None:
    inbox.by, inbox.grace = "received SIGINT", 1.0
    assert scene.build().check(("pytest",), 4) == Interrupted("received SIGINT")


def test_caches_that_an_agent_left_are_cleared_before_the_checks(scene: Scene) -> None:
    left = scene.root / "__pycache__/calc.cpython-311.pyc"
    left.parent.mkdir()
    left.write_bytes(b"")
    check(scene.build())
    assert not left.exists()


def test_what_changed_is_told_with_its_diff(scene: Scene) -> None:
    scene.keeper.write({"test_calc.py": WEAKER, "test_new.py": TEST})
    changes, diff = scene.build().compare()
    assert [change.path for change in changes] == ["test_calc.py", "test_new.py"]
    assert diff == "diff of test_calc.py\n"
    assert scene.build(is_watched=False).compare() == ((), "")


# -- what is committed -----------------------------------------------------------------------------
class CommittedKeeper(MemoryKeeper):
    """One whose last commit is another tree than the files on disk."""

    committed = "committed"

    def write_committed_tree(self, apart_from: str = "") -> str:
        if not self.committed:
            raise MachineError("nothing is committed")
        return self.committed


@pytest.mark.parametrize(("is_saved", "copies"), [(True, 0), (False, 1)])
def test_what_is_committed_is_checked_in_a_copy_unless_it_is_the_work_tree(
    scene: Scene, tmp_path: Path, is_saved: bool, copies: int
) -> None:
    keeper = CommittedKeeper(tmp_path, FILES)
    keeper.committed = keeper.tree() if is_saved else "committed"
    gates = scene.build(is_watched=False, committed=CommittedTrees(keeper, "loop"))
    assert [each.passed for each in check(gates).results] == [True]
    assert (len(scene.gate.folders), len(scene.in_copy.folders), keeper.looks) == (1 - copies, copies, [4])
    assert all(found[0] == 4 for found in (*scene.gate.folders, *scene.in_copy.folders))


def test_without_a_commit_no_check_passes(scene: Scene, tmp_path: Path) -> None:
    keeper = CommittedKeeper(tmp_path, FILES)
    keeper.committed = ""
    gates = scene.build(is_watched=False, committed=CommittedTrees(keeper, ""))
    found = check(gates)
    assert [(each.gate, each.passed, each.exit_code, each.reason) for each in found.results] == [
        ("what is committed", False, 1, "nothing is committed")
    ]
    assert gates.check((), 4) == Checked(()), "where there are no checks, nobody asks"


def test_before_proofs_are_compared_the_last_commit_is_followed(scene: Scene, tmp_path: Path) -> None:
    keeper = CommittedKeeper(tmp_path, FILES)
    trees = CommittedTrees(keeper, "")
    scene.build(committed=trees).compare()
    assert trees.tree() == "committed"


# -- sealed ----------------------------------------------------------------------------------------
def test_a_sealed_check_runs_the_gates_in_a_copy_with_the_files_as_they_were(scene: Scene) -> None:
    scene.keeper.write({"test_calc.py": WEAKER})
    scene.in_copy.passes = False
    found = scene.build().check_sealed(("pytest",), 4)
    assert isinstance(found, Checked)
    assert (found.sealed, [each.passed for each in found.results]) == (True, [False])
    assert (scene.gate.folders, scene.in_copy.folders) == ([], [(4, "/sealed/.")])
    assert scene.keeper.sealed[0].files == FILES
    assert scene.keeper.looks == [4], "at the tree as it is now"


def test_what_was_approved_is_not_put_back(scene: Scene) -> None:
    scene.keeper.write({"test_calc.py": WEAKER})
    approved = [ProofApproval(change=change, by="review") for change in scene.watch.compare()]
    assert scene.build().check_sealed(("pytest",), 4, approved) == Checked((), sealed=True)


def test_where_nobody_watches_a_sealed_check_finds_nothing(scene: Scene) -> None:
    scene.keeper.write({"test_calc.py": WEAKER})
    assert scene.build(is_watched=False).check_sealed(("pytest",), 4) == Checked((), sealed=True)
    unopened = ProofGates(scene.build()._gates, watch=scene.watch)
    assert unopened.check_sealed(("pytest",), 4) == Checked((), sealed=True)


def test_a_judge_is_asked_about_the_last_sealed_check(scene: Scene, inbox: QuietInbox) -> None:
    questions: list[str] = []

    def ask(question: str) -> Verified:
        questions.append(question)
        return Verified(verified=True, reason="a rename")

    gates = scene.build(judge=ask)
    scene.keeper.write({"test_calc.py": WEAKER})
    scene.in_copy.passes = False
    gates.check_sealed(("pytest",), 4)
    inbox.by, inbox.grace = "received SIGINT", 1.0
    assert gates.check_sealed(("pytest",), 5) == Interrupted("received SIGINT")
    assert gates.judge_change("add is plus now") == Verified(verified=True, reason="a rename")
    assert "- test_calc.py:" in questions[0]
    assert "diff of test_calc.py" in questions[0].partition("explanation")[0]
    assert "add is plus now" in questions[0].partition("explanation")[2]


def test_without_a_judge_no_change_is_accepted(scene: Scene) -> None:
    answer = scene.build().judge_change("add is plus now")
    assert answer == Verified(verified=False, reason="there is no judge to ask")
