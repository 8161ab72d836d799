"""What follows from a sealed check."""

import pytest

from ralph.core.proofs.ruling import SealedRuling, counts_as_proof, rule_on_sealed_check
from ralph.model.loop import Checked, GateResult
from ralph.model.proofs import ProofChange, ProofMode

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
