"""What a verification found, and how it is kept."""

from msgspec.structs import replace

from ralph.model.receipt import CheckEvidence
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


COMMAND = Verdict(
    method="external",
    verified=True,
    reason="passed",
    digest="d1",
    seconds=2.0,
    check=CheckEvidence(name="make test", passed=False, argv=("make", "test"), exit_code=0),
)
JUDGED = Verdict(method="semantic", verified=True, reason="fine", judge="claude haiku", cost_usd=0.5)
WORDS = Verdict(method="semantic", verified=True, reason="All criteria appear met", by_words=True)


def test_a_command_is_evidence_of_its_own() -> None:
    (found,) = replace(COMMAND, red_before=True).list_evidence("coder", on_merged_tree=True)
    assert found == CheckEvidence(
        name="make test",
        passed=True,
        argv=("make", "test"),
        exit_code=0,
        digest="d1",
        reason="passed",
        seconds=2.0,
        role="coder",
        on_merged_tree=True,
        red_before=True,
    )


def test_who_judged_and_what_rests_on_words_is_told() -> None:
    ((judged,), (words,)) = (verdict.list_evidence("qa") for verdict in (JUDGED, WORDS))
    assert (judged.kind, judged.judge, judged.cost_usd) == ("judge", "claude haiku", 0.5)
    assert (words.kind, words.judge, words.passed) == ("words", "", True)


def test_of_several_stages_each_is_evidence_but_those_that_look_at_nothing() -> None:
    skipped = Verdict(method="string_match", verified=True, reason="Skipped")
    stages = (replace(COMMAND, name="unit"), skipped, replace(JUDGED, name="read"))
    found = Verdict(method="multi_stage", verified=True, reason="All", red_before=False, stages=stages)
    told = [(each.stage, each.kind, each.red_before) for each in found.list_evidence("qa")]
    assert told == [("unit", "command", False), ("read", "judge", None)]
