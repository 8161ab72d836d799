"""What a report adds up."""

from ralph.app.reports.report import count_checks, list_review_notes, list_unseen_proofs
from ralph.app.runs.journal_reader import ReviewLine
from ralph.model.proofs import ProofApproval, ProofChange
from ralph.model.receipt import ProofReceipt
from support.reports import make_iteration, make_receipt


def test_checks_are_counted_by_name_the_worst_first() -> None:
    found = count_checks([make_iteration(1, "a"), make_iteration(2, "b"), make_iteration(3, "b", passed=False)])
    assert [(each.name, each.failed, each.runs) for each in found] == [("reviewer: b", 1, 2), ("reviewer: a", 0, 1)]


def test_a_review_of_a_story_is_told_by_its_verdict() -> None:
    from msgspec.structs import replace

    each = replace(
        make_iteration(1), role="review", story="US-1", reviewed=ReviewLine("changes_requested", 1, "louder")
    )
    (note,) = list_review_notes(replace(make_receipt(each), kind="story"), each)
    assert (note.task, note.verdict, note.text) == ("US-1", "changes requested", "louder")


def test_a_stage_of_a_task_passed_or_sent_the_work_back() -> None:
    receipt = make_receipt()
    (passed,) = list_review_notes(receipt, make_iteration(1, "fine"))
    (back,) = list_review_notes(receipt, make_iteration(2, "louder", passed=False))
    assert (passed.verdict, back.verdict, back.text) == ("passed", "sent back", "louder")


def test_a_changed_test_waits_until_somebody_has_said_that_it_is_right() -> None:
    changes = tuple(ProofChange(path=name, kind="weakened") for name in ("a", "b", "c"))
    new = ProofChange(path="d", kind="added")
    proof = ProofReceipt(run="r", kind="run", outcome="completed", why="", changed_proofs=(*changes, new),
                         accepted=("a",), approved=(ProofApproval(change=changes[1], by="reviewer"),))  # fmt: skip
    assert list_unseen_proofs(proof) == ("c",)
