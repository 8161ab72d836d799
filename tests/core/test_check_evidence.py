"""Checks as evidence."""

import pytest
from msgspec.structs import replace

from ralph.core.check_evidence import StageEvidence, describe_gate, digest_checks, redact_checks
from ralph.model.loop import Feedback, GateResult
from ralph.model.receipt import CheckEvidence, ProofFile

CHECK = CheckEvidence(name="make test", passed=True, argv=("/usr/bin/make", "test"), exit_code=0, digest="d1")
SECRET = replace(CHECK, name="API_KEY=hunter2 make test", argv=("/bin/sh", "-c", "API_KEY=hunter2 make test"))


def test_a_guardrail_is_evidence_by_what_it_ran_and_printed() -> None:
    result = GateResult(
        gate="make test",
        passed=False,
        exit_code=2,
        seconds=1.5,
        feedback=Feedback("It failed"),
        reason="It was ended.",
        digest="d1",
        argv=("/usr/bin/make", "test"),
        timeout=60.0,
    )
    assert describe_gate(result, red_before=True) == CheckEvidence(
        name="make test",
        passed=False,
        argv=("/usr/bin/make", "test"),
        exit_code=2,
        digest="d1",
        reason="It was ended.",
        seconds=1.5,
        red_before=True,
        timeout=60.0,
    )


def test_a_guardrail_that_runs_no_command_cannot_be_repeated() -> None:
    found = describe_gate(GateResult(gate="files unchanged", passed=True))
    assert (found.kind, found.exit_code, found.is_repeatable) == ("other", None, False)


def test_secrets_are_hidden_and_what_is_left_cannot_be_run() -> None:
    (plain, hidden) = redact_checks((CHECK, SECRET))
    assert plain == CHECK
    assert plain.is_repeatable
    assert (hidden.name, hidden.argv[2]) == ("API_KEY=*** make test",) * 2
    assert not hidden.is_repeatable


def test_the_digest_is_the_same_with_and_without_secrets() -> None:
    assert digest_checks([SECRET]) == digest_checks(redact_checks([SECRET]))


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "make tset"},
        {"passed": False},
        {"exit_code": 1},
        {"digest": "d2"},
        {"sealed": True},
        {"role": "qa"},
        {"stage": "unit"},
        {"judge": "claude"},
    ],
)
def test_the_digest_differs_with_whatever_was_found(changed: dict[str, object]) -> None:
    assert digest_checks([replace(CHECK, **changed)]) != digest_checks([CHECK])


def test_the_digest_does_not_count_times_and_what_later_versions_may_add() -> None:
    other = replace(CHECK, seconds=9.0, cost_usd=1.0, red_before=True, proofs=(ProofFile("Makefile", "b10b"),))
    assert digest_checks([other]) == digest_checks([CHECK])


def test_a_stage_that_begins_anew_takes_its_checks_and_those_after_it_along() -> None:
    evidence, other = StageEvidence(), replace(CHECK, name="make lint")
    evidence.begin_stage("coder")
    evidence.pass_stage("coder", [CHECK])
    evidence.begin_stage("reviewer")
    evidence.pass_stage("reviewer", [other])
    assert evidence.list_checks() == (CHECK, other)
    evidence.begin_stage("reviewer")
    assert evidence.list_checks() == (CHECK,)
    evidence.pass_stage("reviewer", [other])
    evidence.begin_stage("coder")
    assert evidence.list_checks() == ()
