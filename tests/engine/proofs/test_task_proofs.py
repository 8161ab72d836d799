"""What a stage's verdict is worth once the files its checks rest on were looked at."""

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from ralph.engine.proofs.proof_gates import AskProofJudge
from ralph.engine.proofs.proof_watch import ProofWatch
from ralph.engine.proofs.task_proofs import PROOFS_METHOD, ProofFinding, TaskProofs
from ralph.model.loop import Brief, GateResult, Interrupted, Verified, Verify
from ralph.model.ports import SealedTree
from ralph.model.proofs import ProofMode, WorkTime
from ralph.model.receipt import CheckEvidence
from ralph.model.verdict import Verdict
from support.tree_keeper import MemoryKeeper

TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 1) == 2\n"
FILES = {"calc.py": "def add(a, b): return a - b\n", "test_calc.py": TEST, "spec.md": "It adds.\n"}
GREEN = Verdict(method="external", verified=True, reason="passed")
RED = Verdict(method="external", verified=False, reason="exited with 1", detail="1 failed")
EXPLAINED = Verify(role="coder", turn=1, turns=3, text="", explanation="renamed")


class Scene:
    """A task whose check is pytest; the same check on a sealed tree gives `sealed`."""

    def __init__(self, root: Path) -> None:
        self.keeper = MemoryKeeper(root, FILES)
        self.root = root
        self.approved: dict[str, str] = {}
        self.sealed = RED
        self.sealed_runs = 0

    def build(
        self,
        *,
        mode: ProofMode = "warn",
        has_reviewer: bool = True,
        ask_judge: AskProofJudge | None = None,
        since: float | None = None,
    ) -> TaskProofs:
        watch = ProofWatch(
            self.keeper,
            commands=["pytest"],
            protected=["spec.md"],
            folder=str(self.root),
            environment={"PATH": "/nowhere"},
            worked=WorkTime(since=time.time() + 60 if since is None else since),
            list_accepted=lambda: self.approved,
        )
        return TaskProofs(watch, mode=mode, has_reviewer=has_reviewer, approve=self._approve, ask_judge=ask_judge)

    def _approve(self, contents: Mapping[str, str]) -> None:
        self.approved |= contents

    def weaken(self) -> None:
        self.keeper.write({"test_calc.py": TEST.replace("== 2", "== 0")})

    def weigh(self, proofs: TaskProofs, wanted: Verify, verdict: Verdict = GREEN) -> ProofFinding:
        found = proofs.weigh(wanted, verdict, 1, self._verify_sealed)
        assert isinstance(found, ProofFinding)
        return found

    def _verify_sealed(self, _: SealedTree) -> Verdict:
        self.sealed_runs += 1
        return self.sealed


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_no_check_runs_twice_where_no_proof_was_touched_or_it_is_red_anyway(scene: Scene) -> None:
    scene.keeper.write({"calc.py": "def add(a, b): return a + b\n", "test_new.py": TEST})
    assert scene.weigh(scene.build(), EXPLAINED).verdict == GREEN
    scene.weaken()
    assert scene.weigh(scene.build(), EXPLAINED, RED).verdict == RED
    assert scene.weigh(scene.build(mode="off"), EXPLAINED).verdict == GREEN
    assert scene.sealed_runs == 0


def test_green_with_the_proofs_as_they_were_passes_with_a_note(scene: Scene) -> None:
    scene.weaken()
    scene.sealed = GREEN
    found = scene.weigh(scene.build(), replace(EXPLAINED, explanation=""))
    assert found.verdict.verified
    assert "test_calc.py" in found.verdict.notes[0]
    assert [(each.sealed, each.role) for each in found.list_evidence("coder")] == [(False, "coder"), (True, "coder")]
    assert scene.keeper.looks == [1], "the checks themselves may have changed a test"


def test_a_stage_without_checks_passes_whatever_was_touched(scene: Scene) -> None:
    scene.weaken()
    assert scene.build().weigh(EXPLAINED, GREEN, 1, None) == ProofFinding(verdict=GREEN)


def test_of_the_checks_with_the_proofs_as_they_were_those_count_that_must_pass(scene: Scene) -> None:
    scene.weaken()
    ran = CheckEvidence(name="make test", passed=False, argv=("sh", "-c", "make test"), exit_code=2, timeout=60.0)
    red = Verdict(
        method="external",
        verified=False,
        reason="exited with 2",
        detail="collected\nFAILED test_add",
        digest="d1",
        seconds=1.5,
        check=ran,
    )
    parts = (red, replace(GREEN, detail="all is well", digest="d2"), replace(RED, required=False))
    scene.sealed = replace(RED, stages=parts)
    found = scene.weigh(scene.build(), replace(EXPLAINED, explanation=""))
    assert found.sealed is not None
    assert found.sealed.results == (
        GateResult(
            gate="make test",
            passed=False,
            exit_code=2,
            seconds=1.5,
            reason="exited with 2",
            summary="FAILED test_add",
            tail="collected\nFAILED test_add",
            digest="d1",
            argv=("sh", "-c", "make test"),
            timeout=60.0,
        ),
        GateResult(gate="external", passed=True, digest="d2"),
    )
    assert (found.verdict.method, found.verdict.detail) == (PROOFS_METHOD, "collected\nFAILED test_add")


def test_caches_that_the_coder_left_are_cleared(scene: Scene) -> None:
    left = scene.root / "__pycache__/calc.cpython-311.pyc"
    left.parent.mkdir()
    left.write_bytes(b"")
    proofs = scene.build(since=0)
    proofs.compare()
    proofs.clear_caches()
    assert not left.exists()


@pytest.mark.parametrize(
    ("wanted", "mode", "passes"),
    [
        (EXPLAINED, "warn", True),
        (replace(EXPLAINED, explanation=""), "warn", False),
        (EXPLAINED, "strict", False),
        (replace(EXPLAINED, role="qa"), "warn", False),
    ],
)
def test_red_with_them_passes_only_as_an_explanation_of_the_coder(
    scene: Scene, wanted: Verify, mode: ProofMode, passes: bool
) -> None:
    scene.weaken()
    found = scene.weigh(scene.build(mode=mode), wanted)
    assert found.verdict.verified is passes
    assert found.sealed is not None
    assert [change.path for change in found.sealed.proofs] == ["test_calc.py"]
    assert "diff of test_calc.py" in found.sealed.diff
    assert "test_calc.py was changed" in found.remark
    assert scene.approved == {}


@pytest.mark.parametrize("mode", ["warn", "off"])
def test_a_protected_file_is_refused_whatever_checks_say(scene: Scene, mode: ProofMode) -> None:
    scene.keeper.write({"spec.md": "It subtracts.\n"})
    found = scene.weigh(scene.build(mode=mode), EXPLAINED)
    assert (found.verdict.verified, scene.sealed_runs) == (False, 0)
    assert "protected" in found.verdict.reason


def test_what_the_reviewer_approved_by_name_is_not_asked_about_again_until_it_changes(scene: Scene) -> None:
    scene.weaken()
    proofs = scene.build()
    sealed = scene.weigh(proofs, EXPLAINED).sealed
    assert sealed is not None
    asked = Brief(iteration=1, limit=1, role="reviewer", proofs=sealed.proofs, explanation="renamed")
    assert "diff of test_calc.py" in proofs.build_question(asked)
    silent = Verify(
        role="reviewer", turn=1, turns=1, text="Fine.", proofs=sealed.proofs, explanation="add is called plus now"
    )
    refused = scene.weigh(proofs, silent)
    assert (refused.verdict.verified, refused.verdict.method) == (False, PROOFS_METHOD)
    assert "You have not approved test_calc.py" in refused.verdict.reason == refused.remark
    named = replace(silent, text="<approves>test_calc.py: it was renamed</approves>")
    found = scene.weigh(proofs, named)
    (approval,) = found.approved
    assert (approval.change.path, approval.by, approval.why) == ("test_calc.py", "reviewer", "it was renamed")
    assert approval.explanation == "add is called plus now"
    assert proofs.compare() == ()
    scene.keeper.write({"test_calc.py": "\n"})
    assert [change.path for change in proofs.compare()] == ["test_calc.py"]


@pytest.mark.parametrize("verified", [True, False])
def test_without_a_reviewer_the_judge_is_asked_once(scene: Scene, verified: bool) -> None:
    scene.weaken()
    questions: list[str] = []

    def ask(question: str) -> Verified | Interrupted:
        questions.append(question)
        reason = "a rename" if verified else "it tests less"
        return Verified(verified=verified, reason=reason, cost_usd=0.5, judge="haiku")

    proofs = scene.build(has_reviewer=False, ask_judge=ask)
    found = scene.weigh(proofs, EXPLAINED)
    assert (found.verdict.verified, found.judge, found.verdict.cost_usd) == (verified, "haiku", 0.5)
    assert "diff of test_calc.py" in questions[0].partition("explanation")[0]
    assert "renamed" in questions[0].partition("explanation")[2]
    assert found.sealed is not None
    assert found.remark in (found.verdict.reason, *found.verdict.notes)
    said = [(each.change.path, each.by, each.why, each.explanation) for each in found.approved]
    if verified:
        assert said == [("test_calc.py", "judge", "a rename", "renamed")]
    else:
        assert said == []
        assert found.verdict.reason.endswith("it tests less")
    later = scene.weigh(proofs, replace(EXPLAINED, role="qa", explanation=""))
    assert later.verdict.verified is verified
    assert len(questions) == 1


def test_where_nobody_can_be_asked_it_passes_and_later_stages_do_not_mind(scene: Scene) -> None:
    scene.weaken()
    proofs = scene.build(has_reviewer=False)
    found = scene.weigh(proofs, EXPLAINED)
    assert (found.verdict.verified, found.approved, found.judge) == (True, (), "")
    assert found.sealed is not None, "the last line has to name it"
    assert scene.weigh(proofs, replace(EXPLAINED, role="qa", explanation="")).verdict.verified
