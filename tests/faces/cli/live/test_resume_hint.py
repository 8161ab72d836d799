"""What to type after a loop that did not complete."""

import pytest

from ralph.faces.cli.live.resume_hint import describe_resume_hint
from ralph.model.loop import Outcome, Stop


@pytest.mark.parametrize(
    ("stop", "hint"),
    [
        (Stop(Outcome.COMPLETED, "done"), ""),
        (Stop(Outcome.UNUSABLE, "no key"), ""),
        (Stop(Outcome.FAILED, "refused", lasting=True), ""),
        (Stop(Outcome.EXHAUSTED, "why"), "resume with the same command and a higher -n or --max-time"),
        (Stop(Outcome.OVER_BUDGET, "why"), "resume with the same command and a higher --budget"),
        (Stop(Outcome.STUCK, "why"), "resume with the same command"),
        (Stop(Outcome.INTERRUPTED, "why"), "resume with the same command"),
        (Stop(Outcome.BLOCKED, "why"), "write it down, then run the same command again"),
        (
            Stop(Outcome.BLOCKED, "why", question="Which port?"),
            "answer with: ralph answer TEXT; then run the same command again",
        ),
    ],
)
def test_a_loop_that_did_not_complete_says_what_to_type(stop: Stop, hint: str) -> None:
    assert describe_resume_hint(stop, "-n", "write it down") == hint
