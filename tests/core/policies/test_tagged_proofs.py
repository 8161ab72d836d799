"""A claim whose checks are green only because what they rest on was changed."""

import pytest
from msgspec.structs import replace

from ralph.core.policies.tagged import TagPolicy
from ralph.core.step import Rules, replay
from ralph.model.loop import (
    Check,
    Decision,
    Limits,
    Outcome,
    Reported,
    Resumed,
    RunAgent,
    Save,
    Stop,
    Verified,
    Verify,
)
from ralph.model.proofs import ProofChange
from support.scripted_world import AgentTurn, ScriptedEffects, play_loop

RED = frozenset({"test"})
DONE = "<response>DONE</response>"
WEAKENED = ProofChange(path="test_calc.py", kind="weakened", reason="marked skip: `skip`")
ADDED = ProofChange(path="test_new.py", kind="added", reason="new test")
PROTECTED = ProofChange(path="spec.md", kind="changed", protected=True)
NOTED = ProofChange(path="main.py", kind="changed", check="python3 main.py", noted=True)
EXPLAINED = "<changes>add is called plus now</changes>\n" + DONE


def turn(*proofs: ProofChange, text: str = DONE, red: frozenset[str] = frozenset()) -> AgentTurn:
    return AgentTurn(reported=Reported(outcome="finished", text=text, proofs=proofs), sealed_red=red)


def play(policy: TagPolicy, *turns: AgentTurn, limit: int = 4) -> tuple[Stop, list[Decision], ScriptedEffects]:
    world = ScriptedEffects(turns)
    rules = Rules(policy)
    stop, log, _ = play_loop(rules, world, limits=Limits(limit))
    assert replay(rules, [seen for seen, _ in log])[1] == [decision for _, decision in log]
    return stop, [decision for _, decision in log], world


def policy(**changes: object) -> TagPolicy:
    return replace(TagPolicy(gates=("test",)), **changes)


def sealed_checks(decisions: list[Decision]) -> int:
    return sum(isinstance(each, Check) and each.sealed for each in decisions)


@pytest.mark.parametrize("proofs", [(), (ADDED,), (NOTED,)])
def test_where_no_proof_was_touched_no_check_runs_twice(proofs: tuple[ProofChange, ...]) -> None:
    stop, decisions, _ = play(policy(), turn(*proofs))
    assert (stop.outcome, stop.flagged, sealed_checks(decisions)) == (Outcome.COMPLETED, False, 0)


def test_a_change_without_a_claim_is_nobodys_business_yet() -> None:
    _, decisions, _ = play(policy(), turn(WEAKENED, text="at it", red=RED), limit=2)
    assert sealed_checks(decisions) == 0


def test_green_also_with_the_tests_as_they_were_is_complete() -> None:
    stop, decisions, _ = play(policy(), turn(WEAKENED))
    assert (stop.outcome, stop.flagged, sealed_checks(decisions)) == (Outcome.COMPLETED, False, 1)
    assert stop.why.endswith("checks also pass with the tests as they were (test_calc.py was changed)")


def test_red_with_the_tests_as_they_were_is_not_complete_and_the_next_agent_is_told() -> None:
    stop, _, world = play(policy(), turn(WEAKENED, red=RED), limit=2)
    assert stop.outcome is Outcome.EXHAUSTED
    assert "test_calc.py was changed, and `test` is red with the files as they were" in stop.why
    (feedback,) = world.briefs[1].feedback
    for words in ("test_calc.py: weakened (marked skip: `skip`)", "`test`", "+    assert True", "<changes>"):
        assert words in feedback.text


def test_an_agent_that_puts_it_back_is_clean_again() -> None:
    stop, decisions, world = play(policy(), turn(WEAKENED, red=RED), turn())
    assert (stop.outcome, stop.flagged, sealed_checks(decisions), len(world.briefs)) == (
        Outcome.COMPLETED,
        False,
        1,
        2,
    )


def test_an_explained_change_completes_with_a_flag_where_nobody_can_judge() -> None:
    stop, _, _ = play(policy(), turn(WEAKENED, text=EXPLAINED, red=RED))
    assert stop == Stop(
        Outcome.COMPLETED,
        "completed, but test_calc.py was changed and fails in its old form: `ralph diff --proofs`",
        flagged=True,
    )


def test_the_explanation_may_come_with_the_next_claim() -> None:
    stop, _, world = play(policy(), turn(WEAKENED, red=RED), turn(WEAKENED, text=EXPLAINED, red=RED))
    assert (stop.outcome, stop.flagged, len(world.briefs)) == (Outcome.COMPLETED, True, 2)


@pytest.mark.parametrize(
    "text", [DONE, f"```\n<changes>x</changes>\n```\n{DONE}", f"<changes>  </changes>{DONE}", f"<changes>open\n{DONE}"]
)
def test_what_is_no_explanation_does_not_count(text: str) -> None:
    stop, _, _ = play(policy(), turn(WEAKENED, text=text, red=RED), limit=1)
    assert stop.outcome is Outcome.EXHAUSTED


def test_a_judge_is_asked_about_what_is_explained() -> None:
    asked = replace(turn(WEAKENED, text=EXPLAINED, red=RED), verdict=Verified(verified=True, reason="a rename"))
    stop, _, world = play(policy(has_judge=True), asked)
    assert (stop.outcome, stop.flagged) == (Outcome.COMPLETED, False)
    assert "test_calc.py was changed, which the judge approved: a rename" in stop.why
    assert [question.text for question in world.questions] == ["add is called plus now"]


def test_what_the_judge_rejects_goes_back_to_the_agent() -> None:
    verdict = Verified(verified=False, reason="it only skips", judge="claude haiku")
    no = replace(turn(WEAKENED, text=EXPLAINED, red=RED), verdict=verdict)
    stop, _, world = play(policy(has_judge=True), no, turn())
    assert stop.outcome is Outcome.COMPLETED
    assert "it only skips" in world.briefs[1].feedback[0].text


def test_a_judge_that_gives_no_verdict_is_as_none() -> None:
    silent = replace(
        turn(WEAKENED, text=EXPLAINED, red=RED), verdict=Verified(verified=False, reason="the judge gave no verdict")
    )
    stop, _, _ = play(policy(has_judge=True), silent)
    assert (stop.outcome, stop.flagged) == (Outcome.COMPLETED, True)
    assert stop.why.startswith("completed, but test_calc.py")
    assert stop.why.endswith("; the judge gave no verdict")


def test_nobody_is_asked_about_what_is_not_explained() -> None:
    _, decisions, _ = play(policy(has_judge=True), turn(WEAKENED, red=RED), limit=2)
    assert not any(isinstance(each, Verify) for each in decisions)


def test_strict_warns_once_and_then_refuses() -> None:
    stop, _, world = play(policy(proofs="strict"), turn(WEAKENED, text=EXPLAINED, red=RED))
    assert (stop.outcome, stop.outcome.exit_code, len(world.briefs)) == (Outcome.TAMPERED, 1, 2)
    assert "test_calc.py" in stop.why


def test_strict_takes_what_is_green_with_the_tests_as_they_were() -> None:
    stop, _, _ = play(policy(proofs="strict"), turn(WEAKENED))
    assert stop.outcome is Outcome.COMPLETED


def test_strict_refuses_at_once_where_no_agent_may_run_any_more() -> None:
    stop, _, _ = play(policy(proofs="strict"), turn(WEAKENED, red=RED), limit=1)
    assert stop.outcome is Outcome.TAMPERED


@pytest.mark.parametrize("mode", ["warn", "strict", "off"])
def test_a_protected_file_is_refused_whatever_the_checks_say(mode: str) -> None:
    stop, _, world = play(policy(proofs=mode), turn(PROTECTED, text=EXPLAINED))
    assert (stop.outcome, len(world.briefs)) == (Outcome.TAMPERED, 2)
    assert "spec.md must not change" in world.briefs[1].feedback[0].text


def test_a_protected_file_is_refused_without_guardrails() -> None:
    stop, _, _ = play(TagPolicy(), turn(PROTECTED), limit=1)
    assert stop.outcome is Outcome.TAMPERED


def test_off_compares_nothing_and_says_so() -> None:
    stop, decisions, _ = play(policy(proofs="off"), turn(WEAKENED, red=RED))
    assert (stop.outcome, sealed_checks(decisions)) == (Outcome.COMPLETED, 0)
    assert stop.why.endswith("; proofs were not compared (proofs: off)")
    stop, _, _ = play(policy(proofs="off"), turn(text="at it"), limit=1)
    assert "proofs: off" in stop.why


def test_what_a_person_accepted_is_complete_after_a_resume_without_another_agent() -> None:
    rules, refused = Rules(policy(proofs="strict")), turn(WEAKENED, red=RED)
    world = ScriptedEffects([refused])
    stop, _, state = play_loop(rules, world, limits=Limits(1))
    assert stop.outcome is Outcome.TAMPERED
    again = ScriptedEffects([replace(refused, accepted=frozenset({"test_calc.py"}))])
    stop, log, _ = play_loop(rules, again, state=state, fact=Resumed(Limits(1)))
    assert (stop.outcome, [type(decision) for _, decision in log]) == (Outcome.COMPLETED, [Check, Stop])


def test_what_nobody_accepted_is_refused_after_a_resume_too() -> None:
    rules, refused = Rules(policy(proofs="strict")), turn(WEAKENED, red=RED)
    stop, _, state = play_loop(rules, ScriptedEffects([refused]), limits=Limits(1))
    stop, _, _ = play_loop(rules, ScriptedEffects([refused]), state=state, fact=Resumed(Limits(1)))
    assert stop.outcome is Outcome.TAMPERED


def test_nothing_is_committed_before_the_sealed_check_is_green() -> None:
    _, decisions, world = play(policy(saves=True), turn(WEAKENED, red=RED), turn(WEAKENED))
    assert [type(each) for each in decisions] == [RunAgent, Check, Check, RunAgent, Check, Check, Save, Stop]
    assert world.saves == 1


def test_a_flag_survives_the_commit() -> None:
    stop, _, _ = play(policy(saves=True), turn(WEAKENED, text=EXPLAINED, red=RED))
    assert stop.flagged


@pytest.mark.parametrize(
    ("proofs", "words"),
    [
        ((NOTED,), "main.py, which the check runs, was changed"),
        ((ProofChange(path="Makefile", kind="added", check="make test"),), "Makefile is new and part of the check"),
        ((ADDED,), "1 guardrail passed"),
    ],
)
def test_completion_mentions_what_is_worth_a_word(proofs: tuple[ProofChange, ...], words: str) -> None:
    stop, _, _ = play(policy(), turn(*proofs))
    assert stop.why.endswith(words)
