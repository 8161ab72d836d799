"""What follows from a sealed check."""

import pytest

from ralph.core.policies.done_file import DoneFilePolicy, DoneFileState
from ralph.core.policies.tagged import TaggedState, TagPolicy
from ralph.core.proofs.ruling import SealedRuling, counts_as_proof, decide_on_sealed_check, rule_on_sealed_check
from ralph.model.loop import Checked, GateResult, Outcome, Stop, Verify
from ralph.model.proofs import ProofChange, ProofChangeKind, ProofMode

WEAKENED = ProofChange(path="test_calc.py", kind="weakened")
PROTECTED = ProofChange(path="spec.md", kind="changed", protected=True)
GREEN = Checked((GateResult(gate="test", passed=True),), sealed=True, proofs=(WEAKENED,))
RED = Checked((GateResult(gate="test", passed=False),), sealed=True, proofs=(WEAKENED,))
GREEN_BUT_PROTECTED = Checked((GateResult(gate="test", passed=True),), sealed=True, proofs=(PROTECTED,))


@pytest.mark.parametrize(
    ("checked", "mode", "is_explained", "has_judge", "is_last_chance", "ruling"),
    [
        (GREEN, "warn", False, False, True, "pass"),
        (GREEN, "strict", False, False, True, "pass"),
        (RED, "warn", False, True, True, "put back"),
        (RED, "warn", True, False, False, "flag"),
        (RED, "warn", True, True, False, "ask judge"),
        (RED, "strict", True, True, False, "put back"),
        (RED, "strict", True, True, True, "refuse"),
        (GREEN_BUT_PROTECTED, "warn", True, True, False, "put back"),
        (GREEN_BUT_PROTECTED, "off", True, True, True, "refuse"),
    ],
)
def test_what_follows(
    checked: Checked, mode: ProofMode, is_explained: bool, has_judge: bool, is_last_chance: bool, ruling: SealedRuling
) -> None:
    found = rule_on_sealed_check(
        checked, mode, is_explained=is_explained, has_judge=has_judge, is_last_chance=is_last_chance
    )
    assert found == ruling


def test_what_is_protected_counts_also_where_proofs_are_off() -> None:
    assert [counts_as_proof(change, "off") for change in (WEAKENED, PROTECTED)] == [False, True]
    assert counts_as_proof(WEAKENED, "warn")


@pytest.mark.parametrize("kind", ["changed", "weakened", "deleted", "shadowed"])
def test_what_is_new_or_only_noted_is_welcome(kind: ProofChangeKind) -> None:
    assert counts_as_proof(ProofChange(path="a", kind=kind), "warn")
    assert not counts_as_proof(ProofChange(path="a", kind=kind, noted=True), "warn")
    assert not counts_as_proof(ProofChange(path="a", kind="added"), "strict")


@pytest.mark.parametrize(
    ("policy", "state"), [(TagPolicy, TaggedState), (DoneFilePolicy, DoneFileState)], ids=["run", "supervise"]
)
def test_every_loop_without_a_reviewer_decides_alike(
    policy: type[TagPolicy | DoneFilePolicy], state: type[TaggedState | DoneFileState]
) -> None:
    lenient, strict = policy(proofs="warn", has_judge=True), policy(proofs="strict", has_judge=True)
    explained = state(explanation="a rename")
    warned = state(warned=frozenset({WEAKENED.path}))
    assert decide_on_sealed_check(lenient, state(), GREEN, is_last_run=True) == "pass"
    assert decide_on_sealed_check(lenient, state(), RED, is_last_run=True) == "put back"
    assert decide_on_sealed_check(policy(proofs="warn"), explained, RED, is_last_run=False) == "flag"
    assert decide_on_sealed_check(lenient, explained, RED, is_last_run=False) == Verify(
        role="judge", turn=1, turns=1, text="a rename"
    )
    assert decide_on_sealed_check(strict, state(), RED, is_last_run=False) == "put back"
    for refused in (
        decide_on_sealed_check(strict, state(), RED, is_last_run=True),
        decide_on_sealed_check(strict, warned, RED, is_last_run=False),
    ):
        assert isinstance(refused, Stop)
        assert (refused.outcome, WEAKENED.path in refused.why) == (Outcome.TAMPERED, True)
