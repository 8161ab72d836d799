"""What a verification found, and how it is kept."""

from ralph.model.spec import VerificationAttempt
from ralph.model.verdict import Verdict


def test_a_verdict_is_kept_whole() -> None:  # 002-18
    found = Verdict(
        method="external",
        verified=False,
        reason="r",
        detail="printed",
        digest="d1g3st",
        seconds=1.5,
        cost_usd=0.1,
        notes=("noted",),
    )
    assert found.as_attempt(iteration=3, agent="coder", timestamp="2026-01-01T00:00:00Z") == VerificationAttempt(
        iteration=3,
        promise_found=True,
        verified=False,
        reason="r",
        timestamp="2026-01-01T00:00:00Z",
        agent="coder",
        method="external",
        digest="d1g3st",
        seconds=1.5,
        cost_usd=0.1,
        notes=("noted",),
        detail="printed",
    )
