"""What proves a run, as lines for people."""

from typing import TYPE_CHECKING

from ralph.faces.cli.pages.receipt_lines import ReceiptLineRenderer, TextLines
from ralph.faces.proof_words import BY_WORDS_WARNING, describe_check, describe_checked_tree

if TYPE_CHECKING:
    from ralph.model.receipt import ProofReceipt


class ProofRenderer:
    """The part of `ralph show` that says what completion rests on."""

    def __init__(self, lines: ReceiptLineRenderer) -> None:
        self._lines = lines

    def render_proof(self, proof: "ProofReceipt") -> TextLines:
        """Nothing of a run that did not complete: its checks are told where they ran."""
        if proof.outcome != "completed":
            return
        yield f"Proof{describe_checked_tree(proof)}"
        for check in proof.checks:
            yield from self._lines.render_item("ok" if check.passed else "bad", describe_check(check), 2)
        if proof.by_words_only:
            yield from self._lines.render_item("warn", BY_WORDS_WARNING, 2)
        for change in proof.changed_proofs:
            reason = f": {change.reason}" if change.reason else ""
            yield from self._lines.render_item("warn", f"{change.path} {change.kind}{reason}", 2)
        for approval in proof.approved:
            why = f": {approval.why}" if approval.why else ""
            line = f"{approval.change.path}: its change was approved by the {approval.by}{why}"
            yield from self._lines.render_item("note", line, 2)
        for path in proof.accepted:
            yield from self._lines.render_item("note", f"{path}: its change was accepted by a person", 2)
