"""SpecFlow's first rule against false promises: words that contradict one, and signs each stage must show."""

import re
from collections.abc import Iterable

from ralph.core.tasks.words import find_sentence, is_denied, keep_own_words

PROMISE_MALFORMED = "Promise not found or malformed"
PROMISE_CONTRADICTED = "Output contains contradictions to promise"
PROMISE_VERIFIED = "Promise verified"
CONTRADICTION_PATTERNS = (
    r"TODO:",
    r"FIXME:",
    r"not yet implemented",
    r"still need to",
    r"remaining work",
    r"blocked by",
    r"cannot complete",
    r"tests? fail",
)
_OWN_PATTERNS = (r"tests? still fail",)  # beside those of the specification
_SPECIFIED_CONTRADICTION = re.compile("|".join(CONTRADICTION_PATTERNS), re.IGNORECASE)
_CONTRADICTION = re.compile("|".join((*CONTRADICTION_PATTERNS, *_OWN_PATTERNS)), re.IGNORECASE)

_TESTS_FAIL = re.compile(r"tests? (?:still )?fail", re.IGNORECASE)
# Of tests that failed before the work, or would without it, an honest message tells as well.
_ELSEWHERE = re.compile(
    r"\b(?:before|previously|earlier|initially|originally|at first|used to|until|unless|without|would|no longer"
    r"|reverted|on (?:the )?(?:base|main|master|target|old)|as expected)\b",
    re.IGNORECASE,
)


def find_contradiction(output: str, criteria: Iterable[str] = ()) -> str:
    """The agent's own words that contradict its promise; empty without any. What it quotes, and what it repeats of the
    criteria, is not its own."""
    said = keep_own_words(output, criteria)
    for place in _CONTRADICTION.finditer(said):
        words, at = place.group(), place.start()
        is_elsewhere = _TESTS_FAIL.match(words) and _ELSEWHERE.search(find_sentence(said, at))
        if not is_denied(said, at) and not is_elsewhere:
            return words
    return ""


def find_missing_sign(stage: str, output: str, *, can_commit: bool = True) -> str:
    """The sign its stage must show and the message does not; empty when it does. A promise is a sign by its name."""
    return _find_missing_sign(stage, f"{output}\n{output.replace('_', ' ')}", can_commit)


def check_promise(promised: bool, output: str, stage: str, *, can_commit: bool = True) -> tuple[bool, str]:
    """Whether the promise may be believed, and why: its form, then contradictions, then the stage's own rule. An agent
    that cannot commit need not say that it did."""
    if not promised:
        return False, PROMISE_MALFORMED
    if _SPECIFIED_CONTRADICTION.search(output):
        return False, PROMISE_CONTRADICTED
    missing = _find_missing_sign(stage, output, can_commit)
    return not missing, missing or PROMISE_VERIFIED


def _find_missing_sign(stage: str, output: str, can_commit: bool) -> str:
    lower = output.lower()
    match stage:
        case "coder" if can_commit and "commit" not in lower:
            return "No commit detected in coder output"
        case "tester" if "passed" not in lower:
            return "No passing tests detected"
        case "reviewer" if "REVIEW PASSED" not in output and "approved" not in lower:
            return "No review approval detected"
        case _:
            return ""
