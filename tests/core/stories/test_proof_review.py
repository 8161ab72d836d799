"""What is open about changed proofs in a story loop."""

import json

from ralph.core.stories.proof_review import ProofReview, reopen_story
from ralph.core.stories.review import parse_story_file
from ralph.model.proofs import ProofApproval, ProofChange
from support.stories import make_story

TEST = ProofChange(path="test_calc.py", kind="weakened", blob="b1")
LATER = ProofChange(path="test_calc.py", kind="weakened", blob="b2")
SPEC = ProofChange(path="spec.md", kind="changed", protected=True, blob="b3")
NEW = ProofChange(path="test_new.py", kind="added", blob="b4")
APPROVES = "<approves>test_calc.py: a rename</approves>\n<approves>spec.md: fine</approves>"


def look(review: ProofReview, *changes: ProofChange, counts: bool = True) -> ProofReview:
    return review.look(changes, "+ assert True", counts=counts)


def test_what_a_review_names_is_approved_as_it_is_and_a_protected_file_stays_open() -> None:
    worked = look(ProofReview().note_work("<changes>add is plus now</changes>"), TEST, SPEC, NEW, counts=False)
    assert worked.open == (TEST, SPEC)
    found = look(worked.note_review(APPROVES), TEST, SPEC, NEW)
    assert found.approved[0] == ProofApproval(change=TEST, by="review", why="a rename", explanation="add is plus now")
    assert found.open == (SPEC,)
    assert found.describe_approved().startswith("test_calc.py was changed, which the review approved: a rename")
    changed = look(found, LATER, SPEC, counts=False)
    assert changed.open == (LATER, SPEC), "another change of the same file is another question"
    assert "a rename" not in changed.describe_approved()


def test_a_review_that_does_not_count_approves_nothing_and_its_words_are_not_kept() -> None:
    found = look(ProofReview().note_review(APPROVES), TEST, counts=False)
    assert (found.approved, found.answer, found.open) == ((), "", (TEST,))
    assert look(found, TEST).approved == ()


def test_who_works_again_keeps_its_explanation_and_forgets_the_review() -> None:
    review = ProofReview(explanation="add is plus now").note_review(APPROVES).note_work("Done.")
    assert (review.explanation, review.answer) == ("add is plus now", "")
    assert review.note_work("<changes>another</changes>").explanation == "another"


def test_the_question_names_each_open_file_and_how_to_approve_it() -> None:
    asked = look(ProofReview(explanation="add is plus now"), TEST, counts=False).render_question()
    assert "- test_calc.py: weakened" in asked
    assert "`<approves>test_calc.py: why this change is right</approves>`" in asked
    assert "add is plus now" in asked
    assert "+ assert True" in asked
    assert ProofReview().render_question() == ""


def test_one_story_is_reviewed_again_and_no_other() -> None:
    stories = [make_story(name, passes=True, reviewStatus="approved", reviewCount=2) for name in ("S-1", "S-2")]
    tasks = parse_story_file(json.dumps({"project": "p", "description": "d", "userStories": stories}))
    for feedback, status in (("", "needs_review"), ("Put it back.", "changes_requested")):
        again, other = reopen_story(tasks, "S-1", feedback=feedback).document["userStories"]
        assert (again["passes"], again["reviewStatus"], again["reviewCount"]) == (False, status, 1)
        assert again["reviewFeedback"] == feedback
        assert other == tasks.document["userStories"][1]
    skipped, _ = reopen_story(tasks, "S-1", feedback="x", skip_review=True).document["userStories"]
    assert (skipped["passes"], skipped["reviewCount"]) == (False, 2)
