"""A task whose checks are green only because what they rest on was changed."""

from collections.abc import Sequence
from typing import Any

import pytest

from ralph.core.policies.staged import PipelinePolicy, StagedState, StagePlan
from ralph.core.proofs.wording import OFF_NOTE
from ralph.core.step import Rules, replay, step
from ralph.model.loop import (
    Began,
    Brief,
    Checked,
    Decision,
    Fact,
    GateResult,
    Land,
    Landed,
    Limits,
    LoopState,
    Observation,
    Outcome,
    Reported,
    RunAgent,
    Stop,
    Verified,
    Verify,
)
from ralph.model.proofs import ProofApproval, ProofChange

WEAKENED = ProofChange(path="test_calc.py", kind="weakened", reason="marked skip: `skip`")
PROTECTED = ProofChange(path="spec.md", kind="changed", protected=True)
RED = Checked(
    (GateResult(gate="make test", passed=False, exit_code=1),), sealed=True, proofs=(WEAKENED,), diff="-assert"
)
GREEN = Checked((GateResult(gate="make test", passed=True),), sealed=True, proofs=(WEAKENED,))
EXPLAINED = "<changes>add is called plus now</changes>\n"
APPROVED = Verified(
    verified=True,
    reason="",
    approved=(ProofApproval(change=WEAKENED, by="reviewer", why="the task renames add"),),
)
PASSED = Verified(verified=True, reason="")
REFUSED = Verified(verified=False, reason="test_calc.py was changed", sealed=RED)
LANDED = Landed(done=True, commit="c0ffee" * 7)

Turn = tuple[Reported, Verified]


def say(role_text: str = "", *proofs: ProofChange, undone: Sequence[str] = ()) -> Reported:
    text = f"{role_text}<promise>IT</promise>"
    return Reported(outcome="finished", text=text, proofs=proofs, undone=tuple(undone))


class Play:
    """Each agent run with the verdict on it; when the script is over, all goes well."""

    def __init__(self, *turns: Turn, roles: str = "coder reviewer tester qa", **policy: Any) -> None:
        stages = tuple(StagePlan(role=role, promise="IT", limit=3) for role in roles.split())
        self.rules = Rules(PipelinePolicy(task="T", stages=stages, **policy))
        self._turns, self._verdict = [*turns], PASSED
        self.briefs: list[Brief] = []
        self.verifies: list[Verify] = []
        self.seen: list[Observation] = []
        self.decisions: list[Decision] = []
        self.stop = self._play()

    def _play(self) -> Stop:
        state: LoopState[StagedState] | None = None
        fact: Fact = Began(Limits(100))
        for at in range(300):
            self.seen.append(Observation(fact=fact, at=float(at)))
            state, decision = step(self.rules, state, self.seen[-1])
            self.decisions.append(decision)
            if isinstance(decision, Stop):
                assert replay(self.rules, self.seen)[1] == self.decisions
                return decision
            fact = self._perform(decision)
        raise AssertionError("it does not end")

    def _perform(self, decision: Decision) -> Fact:
        match decision:
            case RunAgent(brief):
                self.briefs.append(brief)
                reported, self._verdict = self._turns.pop(0) if self._turns else (say(), PASSED)
                return reported
            case Verify():
                self.verifies.append(decision)
                return self._verdict
            case Land():
                return LANDED
            case _:
                raise AssertionError(decision)

    @property
    def roles(self) -> list[str]:
        return [brief.role for brief in self.briefs]

    def told(self, number: int) -> str:
        brief = self.briefs[number]
        return "\n".join((*(item.text for item in brief.feedback), brief.changes))


def test_green_also_with_the_proofs_as_they_were_is_noted() -> None:
    play = Play((say("", WEAKENED), Verified(verified=True, reason="", sealed=GREEN)))
    assert (play.roles, play.stop.outcome) == (["coder", "reviewer", "tester", "qa"], Outcome.COMPLETED)
    assert "checks also pass with the tests as they were (test_calc.py" in play.stop.why
    assert all(not brief.proofs for brief in play.briefs)


def test_red_with_them_goes_back_to_the_coder_with_file_diff_and_advice() -> None:
    play = Play((say("", WEAKENED), REFUSED))
    assert play.roles[:3] == ["coder", "coder", "reviewer"]
    for words in ("test_calc.py", "-assert", "make test", "<changes>"):
        assert words in play.told(1)


def test_what_is_explained_is_put_to_the_reviewer_who_has_to_answer() -> None:
    explained = (say(EXPLAINED, WEAKENED), Verified(verified=True, reason="", sealed=RED))
    silent = (say("", WEAKENED), Verified(verified=False, reason="not approved by name"))
    play = Play(explained, silent, (say("", WEAKENED), APPROVED))
    assert play.roles == ["coder", "reviewer", "reviewer", "tester", "qa"]
    assert [each.proofs for each in play.verifies] == [(), (WEAKENED,), (WEAKENED,), (), ()]
    assert {brief.explanation for brief in play.briefs if brief.proofs} == {"add is called plus now"}
    assert play.verifies[0].explanation == "add is called plus now"
    assert "test_calc.py was changed, which the reviewer approved: the task renames add" in play.stop.why
    assert not play.stop.flagged


def test_a_reviewer_who_sends_it_back_is_asked_again_about_what_is_left() -> None:
    explained = (say(EXPLAINED, WEAKENED), Verified(verified=True, reason="", sealed=RED))
    sent_back = (Reported(outcome="finished", text="<changes>put it back</changes>", proofs=(WEAKENED,)), PASSED)
    unexplained = (say("", WEAKENED), REFUSED)
    again = Play(explained, sent_back, unexplained)
    assert again.verifies[1].explanation == ""  # neither the old one nor the reviewer's own words
    play = Play(explained, sent_back, explained, (say("", WEAKENED), APPROVED))
    assert play.roles == ["coder", "reviewer", "coder", "reviewer", "tester", "qa"]
    assert play.briefs[3].proofs == (WEAKENED,)


def test_without_a_reviewer_a_person_is_told_first_of_all() -> None:
    play = Play((say(EXPLAINED, WEAKENED), Verified(verified=True, reason="", sealed=RED)), roles="coder qa")
    assert play.stop.flagged
    assert play.stop.why.startswith("completed, but test_calc.py was changed")


def test_without_a_reviewer_a_judge_may_approve() -> None:
    by_judge = (ProofApproval(change=WEAKENED, by="judge"),)
    verdict = Verified(verified=True, reason="", sealed=RED, approved=by_judge, proof_judge="claude haiku")
    play = Play((say(EXPLAINED, WEAKENED), verdict), roles="coder qa")
    assert not play.stop.flagged
    assert "test_calc.py was changed, which the judge approved" in play.stop.why


@pytest.mark.parametrize(
    ("policy", "verdict"),
    [
        ({"proofs": "strict"}, REFUSED),
        ({}, Verified(verified=False, reason="", sealed=Checked((), sealed=True, proofs=(PROTECTED,)))),
        ({"proofs": "off"}, Verified(verified=False, reason="", sealed=Checked((), sealed=True, proofs=(PROTECTED,)))),
    ],
)
def test_what_no_agent_may_decide_is_told_once_and_then_is_the_end(policy: Any, verdict: Verified) -> None:
    play = Play((say(EXPLAINED, WEAKENED), verdict), (say(EXPLAINED, WEAKENED), verdict), **policy)
    assert (play.roles, play.stop.outcome) == (["coder", "coder"], Outcome.TAMPERED)
    assert "ralph accept" in play.stop.why


def test_what_was_there_before_a_stage_goes_back_to_the_coder() -> None:
    play = Play((say("", WEAKENED), PASSED), (say(), PASSED), (say("", WEAKENED), PASSED), (say("", WEAKENED), REFUSED))
    assert play.roles[:5] == ["coder", "reviewer", "tester", "qa", "coder"]
    assert "test_calc.py" in play.told(4)


def test_what_a_tester_changed_itself_the_tester_puts_back() -> None:
    play = Play((say(), PASSED), (say(), PASSED), (say("", WEAKENED), REFUSED))
    assert play.roles == ["coder", "reviewer", "tester", "tester", "qa"]
    assert "sends the task back to the coder" in play.told(3)


def test_a_reviewer_who_edits_is_told_once_that_its_edits_are_undone() -> None:
    edited = (say("", undone=["calc.py"]), PASSED)
    play = Play((say(), PASSED), edited, edited)
    assert play.roles == ["coder", "reviewer", "reviewer", "tester", "qa"]
    assert "calc.py were undone" in play.told(2)
    assert "the reviewer's edits of calc.py were undone" in play.stop.why


def test_off_is_said_in_every_last_line() -> None:
    failing = [(say(), Verified(verified=False, reason="no"))] * 9
    for play in (Play(proofs="off"), Play(*failing, proofs="off")):
        assert OFF_NOTE in play.stop.why
    assert OFF_NOTE not in Play().stop.why
