"""What a journal proves."""

import msgspec

from ralph.app.runs.proofs.evidence import RunEvidence, read_evidence
from ralph.model.loop import (
    Began,
    Brief,
    Check,
    Checked,
    Decision,
    Fact,
    GateResult,
    Land,
    Landed,
    Observation,
    Outcome,
    Reported,
    RunAgent,
    Save,
    Saved,
    SnapshotTaken,
    Stop,
    TakeSnapshot,
    Verified,
    Verify,
)
from ralph.model.proofs import ProofChange
from ralph.model.receipt import CheckEvidence, SignedCommit

AGENT = RunAgent(Brief(iteration=1, limit=9))
CHECK = Check(("test",), 1)
REPORT = Reported(outcome="finished")
GREEN = Checked((GateResult(gate="test", passed=True, argv=("test",), digest="g"),))
RED = Checked((GateResult(gate="test", passed=False, exit_code=1, argv=("test",), digest="r"),))
END = Stop(Outcome.COMPLETED, "done")


def read(*steps: tuple[Fact, Decision]) -> RunEvidence:
    rows = [(msgspec.json.encode(Observation(fact=fact)), msgspec.json.encode(decision)) for fact, decision in steps]
    return read_evidence([rows[0], (b"{", b"?"), *rows[1:]])


def stage(role: str) -> RunAgent:
    return RunAgent(Brief(iteration=1, limit=9, role=role, story="T", turn=1, turns=5))


def verified(name: str, *, passed: bool = True) -> Verified:
    return Verified(verified=passed, reason="", evidence=(CheckEvidence(name=name, passed=passed),))


def verify(role: str) -> Verify:
    return Verify(role=role, turn=1, turns=5, text="")


def test_the_last_checks_count_and_a_baseline_tells_what_was_red_before() -> None:
    found = read(
        (Began(), Check(("test",), 0)), (RED, AGENT), (REPORT, CHECK), (RED, AGENT), (REPORT, CHECK), (GREEN, END)
    )
    assert [(each.passed, each.digest, each.red_before) for each in found.checks] == [(True, "g", True)]
    assert found.has_worked


def test_without_a_baseline_nobody_knows_what_was_red_before() -> None:
    (check,) = read((Began(), AGENT), (REPORT, CHECK), (GREEN, END)).checks
    assert check.red_before is None


def test_sealed_checks_stand_beside_the_others_and_changed_proofs_are_those_of_the_last_agent() -> None:
    proofs = (ProofChange(path="test_a.py", kind="weakened"),)
    sealed = msgspec.structs.replace(RED, sealed=True)
    found = read(
        (Began(), AGENT), (msgspec.structs.replace(REPORT, proofs=proofs), CHECK), (GREEN, CHECK), (sealed, END)
    )
    assert [(each.passed, each.sealed, each.is_repeatable) for each in found.checks] == [
        (True, False, True),
        (False, True, False),
    ]
    assert found.changed_proofs == proofs


def test_checks_before_the_last_agent_prove_nothing() -> None:
    assert read((Began(), AGENT), (REPORT, CHECK), (GREEN, AGENT), (REPORT, END)).checks == ()


def test_a_run_whose_checks_were_green_already_has_not_worked() -> None:
    assert read((Began(), Check(("test",), 0)), (GREEN, END)) == RunEvidence()


def test_commits_that_name_the_receipt_are_remembered() -> None:
    first, second = SignedCommit("c1", "d1"), SignedCommit("c2", "d2")
    found = read(
        (Began(), AGENT),
        (REPORT, CHECK),
        (GREEN, Save(1)),
        (Saved(commit=first), AGENT),
        (REPORT, CHECK),
        (GREEN, Save(2)),
        (Saved(commit=second), END),
    )
    assert found.commits == (first, second)


def test_each_stage_of_a_task_has_its_own_and_the_merged_tree_too() -> None:
    merged = (CheckEvidence(name="merged", passed=True),)
    found = read(
        (Began(), stage("coder")),
        (REPORT, verify("coder")),
        (verified("wrong", passed=False), stage("coder")),
        (REPORT, verify("coder")),
        (verified("build"), stage("qa")),
        (REPORT, verify("qa")),
        (verified("test"), Land()),
        (Landed(done=True, commit="c0ffee", evidence=merged), END),
    )
    assert [each.name for each in found.checks] == ["build", "test", "merged"]
    assert found.landed == "c0ffee"


def test_a_task_that_was_sent_back_has_lost_what_later_stages_found() -> None:
    found = read(
        (Began(), stage("coder")),
        (REPORT, verify("coder")),
        (verified("build"), stage("reviewer")),
        (REPORT, verify("reviewer")),
        (verified("read"), stage("qa")),
        (REPORT, stage("coder")),
        (REPORT, verify("coder")),
        (verified("build again"), stage("reviewer")),
    )
    assert [each.name for each in found.checks] == ["build again"]


def test_the_tree_is_the_one_after_the_last_look() -> None:
    looks = [(SnapshotTaken(tree=sign), CHECK) for sign in ("head first", "head last")]
    assert read((REPORT, TakeSnapshot(1)), looks[0], (REPORT, TakeSnapshot(2)), looks[1], (GREEN, END)).tree == "last"
    assert read((REPORT, CHECK), (GREEN, END)).tree == ""
