"""What proves a run, as lines for people."""

from typing import TYPE_CHECKING

from ralph.faces.cli.pages.receipt_lines import COMMIT_HASH_CHARS, ReceiptLineRenderer, TextLines

if TYPE_CHECKING:
    from ralph.model.receipt import CheckEvidence, ProofReceipt

BY_WORDS_WARNING = "by words only: no command and no judge confirmed it"


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
            told = f"{approval.change.path}: its change was approved by the {approval.by}{why}"
            yield from self._lines.render_item("note", told, 2)
        for path in proof.accepted:
            yield from self._lines.render_item("note", f"{path}: its change was accepted by a person", 2)


def describe_checked_tree(proof: "ProofReceipt") -> str:
    """, on commit 2aa0db5e3f, with work that is not committed"""
    if not proof.commit:
        return f", on tree {proof.tree[:COMMIT_HASH_CHARS]}" if proof.tree else ""
    rest = "" if proof.is_committed else ", with work that is not committed"
    return f", on commit {proof.commit[:COMMIT_HASH_CHARS]}{rest}"


def describe_check(check: "CheckEvidence") -> str:
    """coder: make test, exit code 0, failed before the work"""
    code = () if check.exit_code is None else (f"exit code {check.exit_code}",)
    before = {True: ("failed before the work",), False: ("passed before the work: regression only",), None: ()}
    notes = (
        *code,
        *before[check.red_before],
        *(("sealed",) if check.sealed else ()),
        *(("on the merged tree",) if check.on_merged_tree else ()),
        *((f"judged by {check.judge}",) if check.judge else ()),
        *(("by words only",) if check.kind == "words" else ()),
    )
    title = f"{check.role}: {check.name}" if check.role else check.name
    return ", ".join((title, *notes))
