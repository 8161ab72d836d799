"""SpecFlow's first rule against false promises: words that contradict one, and signs each stage must show."""

import re

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
_CONTRADICTION = re.compile("|".join(CONTRADICTION_PATTERNS), re.IGNORECASE)


def check_promise(promised: bool, output: str, stage: str, *, can_commit: bool = True) -> tuple[bool, str]:
    """Whether the promise may be believed, and why: its form, then contradictions, then the stage's own rule. An agent
    that cannot commit need not say that it did."""
    if not promised:
        return False, PROMISE_MALFORMED
    if _CONTRADICTION.search(output):
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
