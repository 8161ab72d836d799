"""A reviewer's word on changed proofs: the question it is asked, and what it answers, file by file."""

import re
from collections.abc import Sequence

from msgspec import Struct

from ralph.core.prompt import truncate_text
from ralph.core.proofs.wording import MAX_DIFF_CHARS, describe_proof_change
from ralph.core.refusal import join_words
from ralph.core.text.fences import classify_fenced_lines
from ralph.core.text.secrets import redact
from ralph.model.proofs import ProofApproval, ProofChange

APPROVAL_TAG = "approves"
MAX_APPROVAL_CHARS = 500
_ANSWER_LINE = re.compile(rf"\s*(?:[-*]\s+)?<{APPROVAL_TAG}>(.*)</{APPROVAL_TAG}>\s*", re.IGNORECASE)
_QUOTES = "`'\"* "


class ApprovalAnswer(Struct, frozen=True, kw_only=True):
    """What a reviewer said of each file it was asked about."""

    approved: tuple[ProofApproval, ...] = ()
    missing: tuple[str, ...] = ()  # files it has not approved by name


def render_review_question(changes: Sequence[ProofChange], explanation: str, diff: str) -> str:
    """For a reviewer: files the checks rest on were changed, and the checks fail without that."""
    listed = "\n".join(f"- {change.path}: {describe_proof_change(change)}" for change in changes)
    shown = f"\n\n```diff\n{truncate_text(redact(diff), MAX_DIFF_CHARS).rstrip()}\n```" if diff else ""
    lines = "\n".join(f"<{APPROVAL_TAG}>{change.path}: why this change is right</{APPROVAL_TAG}>" for change in changes)
    return (
        "## Changed Tests Need Your Approval\n"
        "The checks pass only because these files were changed too. With the files as they were, the checks fail:\n"
        f"{listed}{shown}\n\n"
        f"The coder's explanation (do not trust it):\n{redact(explanation) or '(none)'}\n\n"
        "Decide for each file: does the task itself require this change, and does the file still check at least as much"
        " as before? A test that was skipped, removed or loosened so that it passes is not right.\n"
        "If a change is right, say so by name. Write one line for each file in your final message, outside any code"
        f" fence:\n```\n{lines}\n```\n"
        "If it is not, ask for changes instead. Without your approval of every file the review does not count."
    )


def read_approvals(text: str, asked: Sequence[ProofChange], *, by: str, explanation: str = "") -> ApprovalAnswer:
    """Lines outside code fences that name a file; a reason stands behind a colon."""
    said: dict[str, str] = {}
    for line, is_said in classify_fenced_lines(text):
        if is_said and (found := _ANSWER_LINE.fullmatch(line)):
            path, why = _split_answer(found[1], [change.path for change in asked])
            said.setdefault(path, why[:MAX_APPROVAL_CHARS])
    approved = tuple(
        ProofApproval(change=change, by=by, why=said[change.path], explanation=explanation)
        for change in asked
        if change.path in said
    )
    return ApprovalAnswer(approved=approved, missing=tuple(change.path for change in asked if change.path not in said))


def describe_missing_approvals(paths: Sequence[str]) -> str:
    """Why a review does not count."""
    what = "its change is" if len(paths) == 1 else "their changes are"
    return (
        f"You have not approved {join_words(paths)} by name. If {what} right, write for each file"
        f" <{APPROVAL_TAG}>FILE: why</{APPROVAL_TAG}>; if not, ask for changes"
    )


def describe_approvals(approvals: Sequence[ProofApproval]) -> str:
    """tests/test_calc.py was changed, which the reviewer approved: the task renames add"""
    parts = []
    for each in approvals:
        verb = {"deleted": "deleted", "shadowed": "added"}.get(each.change.kind, "changed")
        why = f": {redact(each.why)}" if each.why else ""
        parts.append(f"{each.change.path} was {verb}, which the {each.by} approved{why}")
    return "; ".join(parts)


def _split_answer(answer: str, paths: Sequence[str]) -> tuple[str, str]:
    """A path may have a colon in it: those that were asked about come first."""
    plain = answer.strip().lstrip(_QUOTES)
    for path in sorted(paths, key=len, reverse=True):
        rest = plain.removeprefix(path).lstrip(_QUOTES)
        if plain.startswith(path) and (not rest or rest[0] in ":-–—(,"):
            return path, rest.lstrip(":-–—, ").strip()
    name, _, why = plain.partition(":")
    return name.strip(_QUOTES), why.strip()
