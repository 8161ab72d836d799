"""What the stages of a task have come to about the files its checks rest on."""

import pytest

from ralph.core.tasks.proof_state import ProofState, build_stage_feedback, passes_with_changed_proofs
from ralph.model.loop import Checked, GateResult, Reported, Verified
from ralph.model.proofs import ProofApproval, ProofChange, ProofMode

TEST = ProofChange(path="test_calc.py", kind="weakened")
OTHER = ProofChange(path="test_sub.py", kind="changed")
SPEC = ProofChange(path="spec.md", kind="changed", protected=True)
NEW = ProofChange(path="test_new.py", kind="added")
DOUBT = ProofChange(path="calc.py", kind="doubtful", reason="asks whether tests are running", noted=True)
GREEN, RED = (GateResult(gate="make test", passed=passed) for passed in (True, False))


def seal(result: GateResult, *proofs: ProofChange) -> Checked:
    return Checked((result,), sealed=True, proofs=proofs, diff="-assert")


def approve(change: ProofChange, why: str = "a rename") -> ProofApproval:
    return ProofApproval(change=change, by="reviewer", why=why)


def report(text: str = "", *proofs: ProofChange) -> Reported:
    return Reported(outcome="finished", text=text, proofs=proofs)


EXPLAINS = "<changes>add is called plus now</changes>"


# -- what an agent left ----------------------------------------------------------------------------
def test_suspects_and_doubts_are_those_of_the_last_agent() -> None:
    state = ProofState().read_report(report("", TEST, NEW, DOUBT), can_explain=True)
    assert state.touched == {"test_calc.py"}
    assert state.doubts == "look at calc.py (asks whether tests are running)"
    state = state.read_report(report(), can_explain=False)
    assert (state.touched, state.doubts) == (frozenset(), "")


def test_an_explanation_is_the_coders_and_of_something() -> None:
    assert ProofState().read_report(report(EXPLAINS, TEST), can_explain=True).explanation == "add is called plus now"
    assert ProofState().read_report(report(EXPLAINS, TEST), can_explain=False).explanation == ""
    assert ProofState().read_report(report(EXPLAINS, NEW), can_explain=True).explanation == ""


@pytest.mark.parametrize(("touched", "kept"), [((TEST,), True), ((), True), ((TEST, OTHER), False), ((OTHER,), False)])
def test_an_explanation_holds_for_the_files_it_was_given_for(touched: tuple[ProofChange, ...], kept: bool) -> None:
    state = ProofState(explanation="renamed", disputed=(TEST,))
    assert state.read_report(report("", *touched), can_explain=True).explanation == ("renamed" if kept else "")


# -- from stage to stage ---------------------------------------------------------------------------
def test_a_stage_inherits_what_was_touched_before_it() -> None:
    state = ProofState(touched=frozenset({"test_calc.py"}), has_told_undone=True).begin_stage()
    assert (state.is_inherited(seal(RED, TEST)), state.is_inherited(seal(RED, TEST, OTHER))) == (True, False)
    assert not state.has_told_undone


def test_a_coder_who_works_again_is_asked_anew_but_knows_what_it_was_told() -> None:
    told = ProofState(touched=frozenset({"test_calc.py"}), approvals=(approve(OTHER),)).refuse(seal(RED, TEST))
    again = told.begin_repair()
    assert again == ProofState(
        touched=frozenset({"test_calc.py"}),
        inherited=frozenset({"test_calc.py"}),
        warned=frozenset({"test_calc.py"}),
        approvals=(approve(OTHER),),
    )
    assert (again.is_warned(seal(RED, TEST)), again.is_warned(seal(RED, TEST, OTHER))) == (True, False)
    notes = ProofState(touched=frozenset({"a"}), warned=frozenset({"b"}), notes=("x",), flag="y", doubts="z")
    repaired = notes.begin_repair()
    assert (repaired.inherited, repaired.warned) == (frozenset({"a"}), frozenset({"b"}))
    assert (repaired.notes, repaired.flag, repaired.doubts) == ((), "", "")


def pass_stage(
    state: ProofState, sealed: Checked | None, *approved: ProofApproval, reviewer: bool = True
) -> ProofState:
    verified = Verified(verified=True, reason="", sealed=sealed, approved=approved)
    return state.pass_stage(verified, has_reviewer=reviewer)


def test_what_was_approved_is_no_longer_disputed_and_the_latest_word_counts() -> None:
    state = ProofState(disputed=(TEST, OTHER), approvals=(approve(TEST, "old"),))
    passed = pass_stage(state, None, approve(TEST, "new"))
    assert (passed.disputed, passed.approvals) == ((OTHER,), (approve(TEST, "new"),))


def test_a_stage_that_passes_with_the_files_as_they_were_is_noted_once() -> None:
    state = pass_stage(pass_stage(ProofState(notes=("x",)), seal(GREEN, TEST)), seal(GREEN, TEST))
    assert state.notes == ("x", "checks also pass with the tests as they were (test_calc.py was changed)")
    assert pass_stage(ProofState(), seal(GREEN)) == ProofState(), "nothing was put back"


def test_one_that_fails_with_them_is_for_the_reviewer_or_for_a_person() -> None:
    assert pass_stage(ProofState(), seal(RED, TEST)).disputed == (TEST,)
    flagged = pass_stage(ProofState(), seal(RED, TEST), reviewer=False)
    assert flagged.flag.startswith("completed, but test_calc.py was changed and fails in its old form")
    assert pass_stage(ProofState(), seal(RED, TEST), approve(TEST), reviewer=False).flag == ""


def test_edits_of_a_reviewer_that_were_undone_are_noted_once() -> None:
    state = ProofState(notes=("x",)).note_undone("reviewer", ["a.py"]).note_undone("reviewer", ["a.py"])
    assert state.notes == ("x", "the reviewer's edits of a.py were undone")
    assert state.describe() == "; x; the reviewer's edits of a.py were undone"


# -- whether a stage passes ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("sealed", "mode", "explanation", "can_explain", "passes"),
    [
        (seal(GREEN, TEST), "warn", "", False, True),
        (seal(GREEN, TEST), "strict", "", False, True),
        (seal(GREEN, SPEC), "warn", "renamed", True, False),
        (seal(RED, TEST), "warn", "renamed", True, True),
        (seal(RED, TEST), "warn", "", True, False),
        (seal(RED, TEST), "warn", "renamed", False, False),
        (seal(RED, TEST), "strict", "renamed", True, False),
    ],
)
def test_a_stage_passes_with_the_files_as_they_were_or_by_an_explanation_that_may_be_given(
    sealed: Checked, mode: ProofMode, explanation: str, can_explain: bool, passes: bool
) -> None:
    assert passes_with_changed_proofs(sealed, mode=mode, explanation=explanation, can_explain=can_explain) is passes


def test_who_cannot_explain_is_told_how_to_ask_the_coder() -> None:
    mine = build_stage_feedback(seal(RED, TEST), can_explain=True, objection="it tests less").text
    assert "The judge does not accept the change: it tests less" in mine
    assert "sends the task back" not in mine
    assert "sends the task back to the coder" in build_stage_feedback(seal(RED, TEST), can_explain=False).text
