"""What follows from a sealed check: the same in every loop that has no reviewer."""

from typing import Literal, Protocol

from ralph.core.proofs.wording import describe_refused_proofs
from ralph.model.loop import Checked, Outcome, Stop, Verify
from ralph.model.proofs import ProofChange, ProofMode

PROOF_JUDGE = "judge"  # the role of who is asked about an explained change
# flag: complete, and a person is told; put back: the next agent is told to, or to explain; refuse: the end
SealedRuling = Literal["pass", "refuse", "ask judge", "flag", "put back"]


class SealingPolicy(Protocol):
    """A loop without a reviewer, as far as proofs are concerned."""

    @property
    def proofs(self) -> ProofMode: ...
    @property
    def has_judge(self) -> bool: ...


class SealedState(Protocol):
    """Where such a loop is."""

    @property
    def explanation(self) -> str: ...  # what the last agent says about changed proofs
    @property
    def warned(self) -> frozenset[str]: ...  # proofs an agent was told to put back


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


def decide_on_sealed_check(
    policy: SealingPolicy, state: SealedState, checked: Checked, *, is_last_run: bool
) -> Stop | Verify | Literal["pass", "flag", "put back"]:
    """The end, or the judge's turn; else what each loop does in its own way. `is_last_run`: none may follow."""
    is_known = frozenset(change.path for change in checked.proofs) <= state.warned
    ruling = rule_on_sealed_check(
        checked,
        policy.proofs,
        is_explained=bool(state.explanation),
        has_judge=policy.has_judge,
        is_last_chance=is_known or is_last_run,
    )
    match ruling:
        case "refuse":
            return Stop(Outcome.TAMPERED, describe_refused_proofs(checked.proofs))
        case "ask judge":
            return Verify(role=PROOF_JUDGE, turn=1, turns=1, text=state.explanation)
        case _:
            return ruling
