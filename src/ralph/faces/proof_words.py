"""What proves a run, in words that every face uses."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralph.model.receipt import CheckEvidence, ProofReceipt

BY_WORDS_WARNING = "by words only: no command and no judge confirmed it"
COMMIT_HASH_CHARS = 10  # characters of a commit


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
