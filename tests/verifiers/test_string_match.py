"""The promise alone."""

import pytest

from ralph.verifiers.string_match import build
from support.claimed import PROMISE, make_claim, make_tools


@pytest.mark.parametrize(
    ("output", "loose", "found"),
    [
        (f"Done.\n<promise>{PROMISE}</promise>", False, True),
        (f"Done.\n<PROMISE>{PROMISE}</PROMISE>\n\n", False, True),
        (f"<promise>{PROMISE}</promise> is what I will say", False, False),
        (f"```\nprint\n<promise>{PROMISE}</promise>\n```", False, False),
        (f"Done:\n```\n<promise>{PROMISE}</promise>\n```", False, True),  # as the prompt shows it
        (f"<promise>{PROMISE.lower()}</promise>", False, False),
        ("<promise>WRONG_PROMISE</promise>", False, False),
        (PROMISE, False, False),
        (f"I cannot say {PROMISE} yet", True, True),  # as SpecFlow had it
        (f"so: {PROMISE.lower()}", True, True),
        ("<promise>WRONG_PROMISE</promise>", True, False),
        ("", False, False),
    ],
)
def test_the_promise_is_found_or_not(output: str, loose: bool, found: bool) -> None:  # 002-05, C1, C2
    verdict = build({}, make_tools()).verify(make_claim(output=output, loose=loose))
    reason = "Promise found in output" if found else f"Promise '{PROMISE}' not found in output"
    assert (verdict.method, verdict.verified, verdict.reason) == ("string_match", found, reason)
