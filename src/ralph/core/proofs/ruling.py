"""What follows from a sealed check: the same in every loop that has no reviewer."""

from typing import Literal

from ralph.model.loop import Checked, Verify
from ralph.model.proofs import ProofChange, ProofMode

PROOF_JUDGE = "judge"  # the role of who is asked about an explained change
# flag: complete, and a person is told; put back: the next agent is told to, or to explain; refuse: the end
SealedRuling = Literal["pass", "refuse", "ask judge", "flag", "put back"]


def counts_as_proof(change: ProofChange, mode: ProofMode) -> bool:
    """Whether checks have to pass without this change, too."""
    return change.protected or (change.is_suspect and mode != "off")


def rule_on_sealed_check(
    checked: Checked, mode: ProofMode, *, is_explained: bool, has_judge: bool, is_last_chance: bool
) -> SealedRuling:
    """`is_last_chance`: an agent was told before, or none may run any more."""
    is_protected = any(change.protected for change in checked.proofs)
    if not is_protected and not checked.failures:
        return "pass"
    if is_protected or mode == "strict":
        return "refuse" if is_last_chance else "put back"
    if is_explained:
        return "ask judge" if has_judge else "flag"
    return "put back"


def ask_proof_judge(explanation: str) -> Verify:
    return Verify(role=PROOF_JUDGE, turn=1, turns=1, text=explanation)
