"""DONE, where the checks are green only because what they rest on was changed."""

from msgspec.structs import replace

from ralph.core.policies.done_file import DoneFilePolicy, DoneFileState
from ralph.core.step import Rules, step
from ralph.model.loop import (
    Awaited,
    Began,
    Check,
    Checked,
    Decision,
    Fact,
    GateResult,
    Limits,
    Looked,
    LoopState,
    Observation,
    Outcome,
    Reported,
    RunAgent,
    Stop,
    Verified,
    Verify,
    Wait,
    Waited,
)
from ralph.model.proofs import ProofChange

WEAKENED = ProofChange(path="test_calc.py", kind="weakened", reason="marked skip: `skip`")
ADDED = ProofChange(path="test_new.py", kind="added", reason="new test")
PROTECTED = ProofChange(path="spec.md", kind="changed", protected=True)
PASSED, FAILED = GateResult(gate="make test", passed=True), GateResult(gate="make test", passed=False, exit_code=1)
RAN = Reported(outcome="finished", text="done")
EXPLAINED = Reported(outcome="finished", text="<changes>add is called plus now</changes>")
MARKED = (Looked(done=True), Awaited())
RED_SEALED = Checked((FAILED,), sealed=True, proofs=(WEAKENED,), diff="+    assert True")


def decide(*facts: Fact, limit: int = 5, **policy: object) -> list[Decision]:
    rules = Rules(replace(DoneFilePolicy(gates=("make test",)), **policy), None)
    state: LoopState[DoneFileState] | None = None
    decisions = []
    for fact in (Began(Limits(limit)), Looked(), *facts):
        state, decision = step(rules, state, Observation(fact=fact, at=1.0))
        decisions.append(decision)
    return decisions


def green(*proofs: ProofChange) -> Checked:
    return Checked((PASSED,), proofs=proofs)


def test_where_no_proof_was_touched_no_check_runs_twice() -> None:
    *_, last = decide(RAN, *MARKED, green(ADDED))
    assert isinstance(last, Stop)
    assert (last.outcome, last.flagged) == (Outcome.COMPLETED, False)


def test_green_also_with_the_tests_as_they_were_is_done_and_names_them() -> None:
    *_, sealed, last = decide(RAN, *MARKED, green(WEAKENED), Checked((PASSED,), sealed=True, proofs=(WEAKENED,)))
    assert sealed == Check(("make test",), 1, sealed=True)
    assert isinstance(last, Stop)
    assert last.outcome is Outcome.COMPLETED
    assert last.why.endswith("checks also pass with the tests as they were (test_calc.py was changed)")


def test_red_with_the_tests_as_they_were_is_not_done_and_the_next_agent_is_told() -> None:
    decisions = decide(RAN, *MARKED, green(WEAKENED), RED_SEALED, Waited(), Looked())
    again = decisions[-1]
    assert isinstance(again, RunAgent)
    (feedback,) = again.brief.feedback
    for words in ("test_calc.py: weakened (marked skip: `skip`)", "+    assert True", "<changes>"):
        assert words in feedback.text
    stop = decide(RAN, *MARKED, green(WEAKENED), RED_SEALED, Waited(), Looked(), limit=1)[-1]
    assert isinstance(stop, Stop)
    assert stop.outcome is Outcome.EXHAUSTED
    assert "test_calc.py was changed" in stop.why
    assert "ralph diff --proofs" in stop.why


def test_an_explained_change_is_done_with_a_flag_where_nobody_can_judge() -> None:
    stop = decide(EXPLAINED, *MARKED, green(WEAKENED), RED_SEALED)[-1]
    assert stop == Stop(
        Outcome.COMPLETED,
        "completed, but test_calc.py was changed and fails in its old form: `ralph diff --proofs`",
        flagged=True,
    )


def test_a_judge_decides_where_there_is_one() -> None:
    asked = (EXPLAINED, *MARKED, green(WEAKENED), RED_SEALED)
    question = decide(*asked, has_judge=True)[-1]
    assert isinstance(question, Verify)
    assert question.text == "add is called plus now"
    yes = decide(*asked, Verified(verified=True, reason="", judge="claude haiku"), has_judge=True)[-1]
    assert isinstance(yes, Stop)
    assert (yes.outcome, yes.flagged) == (Outcome.COMPLETED, False)
    assert "which the judge approved" in yes.why
    no = decide(*asked, Verified(verified=False, reason="it only skips", judge="x"), has_judge=True)[-1]
    assert isinstance(no, Wait)
    silent = decide(*asked, Verified(verified=False, reason="no verdict"), has_judge=True)[-1]
    assert isinstance(silent, Stop)
    assert silent.flagged


def test_strict_refuses_at_the_second_time() -> None:
    once = (EXPLAINED, *MARKED, green(WEAKENED), RED_SEALED)
    assert isinstance(decide(*once, proofs="strict")[-1], Wait)
    stop = decide(*once, Waited(), Looked(), *once, proofs="strict")[-1]
    assert isinstance(stop, Stop)
    assert (stop.outcome, stop.outcome.exit_code) == (Outcome.TAMPERED, 1)


def test_a_protected_file_is_refused_though_the_checks_are_green() -> None:
    sealed = Checked((PASSED,), sealed=True, proofs=(PROTECTED,))
    stop = decide(EXPLAINED, *MARKED, green(PROTECTED), sealed, limit=1, proofs="off", has_protected=True)[-1]
    assert isinstance(stop, Stop)
    assert stop.outcome is Outcome.TAMPERED


def test_off_is_said_in_every_last_line() -> None:
    done = decide(RAN, *MARKED, green(WEAKENED), proofs="off")[-1]
    spent = decide(RAN, Looked(), Waited(), Looked(), limit=1, proofs="off")[-1]
    for stop in (done, spent):
        assert isinstance(stop, Stop)
        assert "proofs: off" in stop.why
