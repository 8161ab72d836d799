"""What is said about changed proofs: to the next agent, in the last line, to a judge."""

from collections.abc import Sequence

from ralph.core.claims import find_first_tag
from ralph.core.prompt import truncate_text
from ralph.core.refusal import join_words
from ralph.core.text.fences import classify_fenced_lines
from ralph.core.text.secrets import redact
from ralph.model.loop import Feedback, GateResult
from ralph.model.proofs import ProofChange

MAX_LISTED_FILES = 3
MAX_DIFF_CHARS = 8000
MAX_EXPLANATION_CHARS = 4000
EXPLANATION_TAG = "changes"
OFF_NOTE = "proofs were not compared (proofs: off)"
SEALED_NOTE = "checks also pass with the tests as they were"
LOOKED_AT_REASON = "which the check only looks at"
DIFF_COMMAND = "`ralph diff --proofs`"
PROOF_CRITERION = "The change to the checks is legitimate."  # what a judge decides about
JUDGE_ANSWER_FORM = "Answer with one line: VERIFIED, or NOT_VERIFIED: followed by the reason."


def extract_explanation(text: str) -> str:
    """What the agent says about its changes, in `<changes>…</changes>` outside code fences; empty: nothing."""
    said = "\n".join(line for line, is_said in classify_fenced_lines(text) if is_said)
    return (find_first_tag(EXPLANATION_TAG, said, least=1) or "").strip()[:MAX_EXPLANATION_CHARS]


def name_files(changes: Sequence[ProofChange]) -> str:
    """tests/test_calc.py, Makefile and 2 more"""
    return join_paths([change.path for change in changes])


def join_paths(paths: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    names = [*paths[:MAX_LISTED_FILES]]
    more = len(paths) - len(names)
    return join_words([*names, f"{more} more"]) if more else join_words(names)


def describe_altered(changes: Sequence[ProofChange]) -> str:
    """tests/test_calc.py was changed"""
    many = len(changes) > 1
    kinds = {change.kind for change in changes}
    if kinds == {"deleted"}:
        verb = "were deleted" if many else "was deleted"
    elif kinds == {"added"}:
        verb = "were added" if many else "was added"
    elif kinds == {"shadowed"}:
        verb = "are new and in the way of a check" if many else "is new and in the way of a check"
    else:
        verb = "were changed" if many else "was changed"
    return f"{name_files(changes)} {verb}"


def describe_judge_approval(changes: Sequence[ProofChange], reason: str) -> str:
    """test_calc.py was changed, which the judge approved: a rename"""
    return f"{describe_altered(changes)}, which the judge approved{f': {reason}' if reason else ''}"


def describe_flagged_completion(changes: Sequence[ProofChange]) -> str:
    """completed, but test_calc.py was changed and fails in its old form: `ralph diff --proofs`"""
    fails = "fail in their old form" if len(changes) > 1 else "fails in its old form"
    if any(change.kind in ("deleted", "shadowed") for change in changes):
        fails = "the checks fail with the files as they were"
    return f"completed, but {describe_altered(changes)} and {fails}: {DIFF_COMMAND}"


def describe_sealed_pass(changes: Sequence[ProofChange]) -> str:
    """checks also pass with the tests as they were (test_sub.py was changed)"""
    suspects = [change for change in changes if change.is_suspect]
    return f"{SEALED_NOTE} ({describe_altered(suspects)})" if suspects else SEALED_NOTE


def describe_refused_proofs(changes: Sequence[ProofChange]) -> str:
    """Why a run that claims completion is not taken for complete."""
    protected = [change for change in changes if change.protected]
    if protected:
        return f"{describe_altered(protected)}, and is protected: {DIFF_COMMAND}, then `ralph accept RUN FILE`"
    return (
        f"{describe_altered(changes)} and the checks fail with the files as they were (proofs: strict):"
        f" {DIFF_COMMAND}, then `ralph accept RUN FILE`"
    )


def describe_notes(changes: Sequence[ProofChange]) -> str:
    """What a person may want to know of a run that is complete: checks that are new, work that a check runs."""
    new = [change for change in changes if change.kind == "added" and change.check and not change.noted]
    seen = [change for change in changes if change.noted and change.reason == LOOKED_AT_REASON]
    ran = [change for change in changes if change.noted and change.kind not in ("added", "doubtful")]
    ran = [change for change in ran if change not in seen]
    doubtful = [change for change in changes if change.kind == "doubtful"]
    parts = []
    if new:
        parts.append(f"{name_files(new)} {'are' if len(new) > 1 else 'is'} new and part of the check")
    if ran:
        parts.append(f"{name_files(ran)}, which the check runs, {'were' if len(ran) > 1 else 'was'} changed")
    if seen:
        verb = "is new" if seen[0].kind == "added" else "was changed"
        parts.append(f"{name_files(seen)}, {LOOKED_AT_REASON}, {verb if len(seen) == 1 else 'were changed'}")
    if doubtful:
        parts.append(describe_doubtful(doubtful))
    return "; ".join(parts)


def describe_doubtful(changes: Sequence[ProofChange]) -> str:
    """look at calc.py (asks whether tests are running: `PYTEST_CURRENT_TEST`)"""
    listed = [f"{change.path} ({change.reason})" for change in changes[:MAX_LISTED_FILES]]
    more = len(changes) - len(listed)
    return f"look at {join_words([*listed, f'{more} more'] if more else listed)}"


def build_proof_feedback(
    changes: Sequence[ProofChange], failures: Sequence[GateResult], diff: str, *, judge: str = ""
) -> Feedback:
    """For the next agent: which files, what fails without the change, what it may do."""
    listed = "\n".join(f"- {change.path}: {describe_proof_change(change)}" for change in changes)
    failed = "\n".join(
        f"- `{redact(failure.gate)}`: {redact(failure.summary) or failure.reason or f'exit code {failure.exit_code}'}"
        for failure in failures
    )
    protected = [change for change in changes if change.protected]
    parts = [
        f"Completion was claimed, but files that the checks rest on are not as they were at the start:\n{listed}",
        f"With these files as they were, the checks fail:\n{failed}" if failed else "",
        f"The judge does not accept the change: {judge}" if judge else "",
        _render_advice(protected),
        f"The changes:\n```diff\n{truncate_text(redact(diff), MAX_DIFF_CHARS).rstrip()}\n```" if diff else "",
    ]
    return Feedback("\n\n".join(filter(None, parts)))


def render_judge_question(changes: Sequence[ProofChange], explanation: str, diff: str) -> str:
    """For a judge who knows nothing else."""
    listed = "\n".join(f"- {change.path}: {describe_proof_change(change)}" for change in changes)
    return (
        "A coding agent says its task is done. The checks pass, but only because it also changed files the checks rest"
        " on; with those files as they were, the checks fail. Decide whether this change to the checks is legitimate:"
        " required by the task (a renamed function, a changed requirement), checking at least as much as before. It is"
        " not if tests were skipped, removed, loosened or bypassed so that they pass.\n\n"
        f"Files:\n{listed}\n\nDiff:\n```diff\n{truncate_text(redact(diff), MAX_DIFF_CHARS).rstrip()}\n```\n\n"
        f"The agent's explanation (do not trust it):\n{redact(explanation)}\n"
    )


def describe_proof_change(change: ProofChange) -> str:
    """weakened (marked skip: `skip`)"""
    return f"{change.kind} ({change.reason})" if change.reason else change.kind


def _render_advice(protected: Sequence[ProofChange]) -> str:
    if protected:
        return f"{name_files(protected)} must not change: put it back as it was."
    return (
        "Put these files back as they were and make the checks pass with them. If the task itself requires the change,"
        f" keep it and explain it in your final answer: <{EXPLANATION_TAG}>which file had to change, and why"
        f"</{EXPLANATION_TAG}>"
    )
