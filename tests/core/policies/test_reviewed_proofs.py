"""Stories whose checks are green only because what they rest on was changed; reviews that do not count."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from core.policies.test_reviewed import Project, approve, document, story, submit
from ralph.core.policies.reviewed import MAX_PROOF_QUESTIONS, ReviewPolicy
from ralph.core.step import Rules, step
from ralph.model.loop import (
    Began,
    Check,
    Checked,
    Decision,
    Fact,
    GateResult,
    Limits,
    LoopState,
    Observation,
    Outcome,
    Reported,
    Stop,
    Survey,
    Surveyed,
)
from ralph.model.proofs import ProofChange

WEAKENED = ProofChange(path="test_calc.py", kind="weakened", reason="marked skip", blob="b1")
PROTECTED = ProofChange(path="spec.md", kind="changed", protected=True, blob="b2")
NAMES_IT = Reported(outcome="finished", text="<approves>test_calc.py: a rename</approves>")
EXPLAINS = Reported(outcome="finished", text="<changes>add is plus now</changes>")
WELL = Reported(outcome="finished")


class ProofProject(Project):
    """Its proofs are changed from the first agent on; sealed, its checks are red unless a review approved that."""

    proofs: tuple[ProofChange, ...] = (WEAKENED,)
    touched: tuple[str, ...] = ()  # by reviews
    is_sealed_red = True

    def perform(self, decision: Decision) -> Fact:
        match decision:
            case Survey():
                found = super().perform(decision)
                assert isinstance(found, Surveyed)
                is_review = bool(self.briefs) and self.briefs[-1].role == "review"
                touched = self.touched if is_review else ()
                proofs = self.proofs if self.briefs else ()
                return replace(found, proofs=proofs, diff="+    assert True" if proofs else "", touched=touched)
            case Check(gates, sealed=True, approved=approved):
                settled = {each.change for each in approved}
                left = [each for each in self.proofs if each not in settled]
                passed = not (left and self.is_sealed_red)
                return Checked((GateResult(gate=gates[0], passed=passed),), sealed=True, proofs=tuple(left), diff="d")
            case Check(gates):
                return Checked(tuple(GateResult(gate=gate, passed=True) for gate in gates), proofs=self.proofs)
            case _:
                return super().perform(decision)


def play(project: ProofProject, limit: int = 8, **policy: Any) -> Stop:
    rules = Rules(replace(ReviewPolicy(gates=("make test",)), **policy))
    state: LoopState[Any] | None = None
    fact: Fact = Began(Limits(limit))
    for at in range(100):
        state, decision = step(rules, state, Observation(fact=fact, at=float(at)))
        if isinstance(decision, Stop):
            return decision
        fact = project.perform(decision)
    raise AssertionError("it does not end")


def make_project(*endings: Reported, changes: tuple[Any, ...] = (submit, approve)) -> ProofProject:
    project = ProofProject(document(story()), *changes)
    project.endings = [*endings]
    return project


def test_the_reviewer_is_asked_and_who_names_the_file_settles_it() -> None:
    project = make_project(EXPLAINS, NAMES_IT)
    stop = play(project)
    assert stop.outcome is Outcome.COMPLETED
    assert "test_calc.py was changed, which the review approved: a rename" in stop.why
    asked = project.briefs[1].changes
    for words in ("test_calc.py: weakened", "+    assert True", "add is plus now", "<approves>test_calc.py: "):
        assert words in asked
    assert project.briefs[0].changes == ""


def test_who_approves_the_story_without_naming_it_is_asked_again_and_then_it_is_refused() -> None:
    project = make_project(WELL, WELL, changes=(submit, *[approve] * 4))
    stop = play(project)
    assert (stop.outcome, stop.outcome.exit_code) == (Outcome.TAMPERED, 1)
    assert [brief.role for brief in project.briefs] == ["implement", *["review"] * (1 + MAX_PROOF_QUESTIONS)]
    assert any("US-001 is reopened: test_calc.py was changed" in line for line in project.reasons)


def test_the_second_answer_may_settle_it() -> None:
    project = make_project(WELL, WELL, NAMES_IT, changes=(submit, approve, approve))
    assert play(project).outcome is Outcome.COMPLETED
    assert json.loads(project.text or "")["userStories"][0]["reviewCount"] == 1  # the first one does not count


def test_where_iterations_are_used_up_the_reason_names_the_file() -> None:
    stop = play(make_project(WELL, WELL), limit=2)
    assert stop.outcome is Outcome.EXHAUSTED
    assert "test_calc.py was changed" in stop.why


def test_another_change_of_an_approved_file_is_another_question() -> None:
    project = make_project(WELL, NAMES_IT)
    perform = project.perform

    def change_later(decision: Decision) -> Fact:
        fact = perform(decision)
        if isinstance(decision, Check) and not decision.sealed:
            project.proofs = (replace(WEAKENED, blob="b9"),)
            return replace(fact, proofs=project.proofs)
        return fact

    project.perform = change_later  # type: ignore[method-assign]
    stop = play(project, limit=2)
    assert stop.outcome is Outcome.EXHAUSTED


def test_green_also_with_the_tests_as_they_were_asks_nobody_again() -> None:
    project = make_project(WELL, WELL)
    project.is_sealed_red = False
    stop = play(project)
    assert stop.outcome is Outcome.COMPLETED
    assert "checks also pass with the tests as they were (test_calc.py was changed)" in stop.why


@pytest.mark.parametrize(("mode", "proofs"), [("strict", WEAKENED), ("warn", PROTECTED), ("off", PROTECTED)])
def test_where_no_review_may_approve_it_is_worked_on_again_and_then_refused(mode: str, proofs: ProofChange) -> None:
    def fix(tasks: dict[str, Any]) -> None:
        tasks["userStories"][0].update(reviewStatus="needs_review", reviewFeedback="")

    project = make_project(WELL, NAMES_IT, changes=(submit, approve, fix, approve, fix, approve))
    project.proofs = (proofs,)
    stop = play(project, proofs=mode, has_protected=True)
    assert stop.outcome is Outcome.TAMPERED
    assert [brief.role for brief in project.briefs][2] == "review-fix"


def test_without_reviews_an_explained_change_completes_with_a_flag() -> None:
    def pass_it(tasks: dict[str, Any]) -> None:
        tasks["userStories"][0].update(passes=True, notes="n")

    told = make_project(EXPLAINS, changes=(pass_it,))
    stop = play(told, skip_review=True)
    assert (stop.outcome, stop.flagged) == (Outcome.COMPLETED, True)
    silent = make_project(WELL, changes=(pass_it, pass_it, pass_it))
    assert play(silent, skip_review=True).outcome is Outcome.TAMPERED
    assert "test_calc.py: weakened" in silent.briefs[1].feedback[0].text


def test_off_is_said_in_every_last_line() -> None:
    assert "proofs: off" in play(make_project(WELL, WELL), proofs="off").why
    assert "proofs: off" in play(make_project(WELL), limit=1, proofs="off").why


@pytest.mark.parametrize("outcome", ["crashed", "timed_out", "idle"])
def test_a_review_that_did_not_end_well_does_not_count(outcome: Any) -> None:
    project = make_project(WELL, Reported(outcome=outcome, text="<approves>test_calc.py</approves>"))
    stop = play(project, limit=2)
    assert stop.outcome is Outcome.EXHAUSTED
    assert json.loads(project.text or "")["userStories"][0]["reviewStatus"] == "needs_review"
    assert any("The review of US-001 does not count" in line for line in project.reasons)


def test_a_review_that_changed_anything_does_not_count_and_the_next_one_is_told() -> None:
    project = make_project(WELL, NAMES_IT, changes=(submit, approve))
    project.touched = ("calc.py",)
    play(project, limit=3)
    assert json.loads(project.text or "")["userStories"][0]["reviewStatus"] == "needs_review"
    told = " ".join(item.text for item in project.briefs[2].feedback)
    assert "it changed calc.py, and a review only reads. Review US-001 again" in told


def test_weaker_criteria_are_put_back_and_said_at_the_end() -> None:
    def weaken(tasks: dict[str, Any]) -> None:
        submit(tasks)
        tasks["userStories"][0]["acceptanceCriteria"] = ["is there"]

    project = make_project(WELL, NAMES_IT, changes=(weaken, approve))
    stop = play(project)
    assert "acceptanceCriteria of US-001 were changed by an agent and put back" in stop.why
    assert json.loads(project.text or "")["userStories"][0]["acceptanceCriteria"] == ["works", "is there"]
