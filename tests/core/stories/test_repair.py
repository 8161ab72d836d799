"""What an agent did to tasks.json against the rules is undone; all else it wrote stays."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.stories.repair import Repair, render_story_file, repair_story_file
from ralph.core.stories.review import (
    ITERATION_MODES,
    IterationMode,
    StoryFile,
    find_invariant_problems,
    find_transition_problems,
    parse_story_file,
    take_review_snapshot,
    validate_document,
)

CAP = 5
INITIAL: dict[str, Any] = {"passes": False, "reviewStatus": None, "reviewCount": 0, "reviewFeedback": ""}


def raw(id_: str = "A", priority: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "title": f"story {id_}",
        "acceptanceCriteria": ["it works"],
        "priority": priority,
        "notes": "done so",
        **INITIAL,
        **fields,
    }


def document(*stories: Any) -> dict[str, Any]:
    return {"project": "demo", "branchName": "ralph/demo", "description": "", "userStories": list(stories)}


def tasks(*stories: Any) -> StoryFile:
    found = validate_document(document(*stories))
    assert not found.problems
    return found


def after(before: StoryFile, mode: IterationMode, *stories: Any, cap: int = CAP, skip_review: bool = False) -> Repair:
    return repair_story_file(before, json.dumps(document(*stories)), mode=mode, cap=cap, skip_review=skip_review)


def needs_review(count: int = 0) -> dict[str, Any]:
    return {**INITIAL, "reviewStatus": "needs_review", "reviewCount": count}


def changes_requested(count: int = 1, feedback: str = "fix it") -> dict[str, Any]:
    return {**INITIAL, "reviewStatus": "changes_requested", "reviewCount": count, "reviewFeedback": feedback}


def approved(count: int = 1) -> dict[str, Any]:
    return {**INITIAL, "passes": True, "reviewStatus": "approved", "reviewCount": count}


# -- field by field -------------------------------------------------------------------------------
def test_an_implementer_that_passes_its_own_story_is_undone_and_the_rest_stays() -> None:  # 004-17, C18
    own = raw(**needs_review() | {"passes": True}, notes="my notes", estimate=3) | {"title": "better"}
    found = after(tasks(raw()), "implement", own)
    assert found.tasks.document["userStories"] == [own | {"passes": False}]
    assert found.undone == ("A: passes true → false",)
    assert any("Implement iterations cannot set passes=true" in problem for problem in found.problems)


def test_an_implementer_that_approves_is_back_where_it_began() -> None:
    found = after(tasks(raw()), "implement", raw(**approved(), notes="new"))
    assert found.tasks.document["userStories"] == [raw(notes="new")]
    assert found.undone == ("A: passes true → false", 'A: reviewStatus "approved" → null', "A: reviewCount 1 → 0")


def test_of_two_submitted_stories_the_higher_priority_stays_so() -> None:
    before = tasks(raw("A", 2), raw("B", 1))
    found = after(before, "implement", raw("A", 2, **needs_review()), raw("B", 1, **needs_review()))
    assert [story.status for story in found.tasks.stories] == [None, "needs_review"]


def test_a_fixer_that_approves_gets_the_feedback_back() -> None:  # 004-19
    found = after(tasks(raw(**changes_requested())), "review-fix", raw(**approved()))
    assert found.tasks.document["userStories"] == [raw(**changes_requested())]


def test_a_fixer_that_only_counts_is_resubmitted_all_the_same() -> None:
    found = after(tasks(raw(**changes_requested())), "review-fix", raw(**needs_review(2)))
    assert found.tasks.document["userStories"] == [raw(**needs_review(1))]


def test_a_fixer_that_leaves_the_feedback_is_not_resubmitted() -> None:
    found = after(tasks(raw(**changes_requested())), "review-fix", raw(**needs_review(1) | {"reviewFeedback": "x"}))
    assert found.tasks.document["userStories"] == [raw(**changes_requested())]


def test_a_fixer_that_only_deletes_the_feedback_gets_it_back() -> None:  # 004-16
    found = after(tasks(raw(**changes_requested())), "review-fix", raw(**changes_requested(feedback=" ")))
    assert found.tasks.document["userStories"] == [raw(**changes_requested())]
    assert "feedback required" in found.problems[0]


def test_a_fixer_that_does_nothing_breaks_no_rule() -> None:
    found = after(tasks(raw(**changes_requested())), "review-fix", raw(**changes_requested()))
    assert (found.problems, found.undone, found.is_needed) == ((), (), False)


def test_of_two_reviewed_stories_the_one_that_was_due_counts() -> None:  # 004-18
    before = tasks(raw("A", 2, **needs_review()), raw("B", 1, **needs_review()))
    found = after(before, "review", raw("A", 2, **approved()), raw("B", 1, **approved()))
    assert [story.status for story in found.tasks.stories] == ["needs_review", "approved"]
    assert any("review may only modify one story" in problem for problem in found.problems)


@pytest.mark.parametrize(
    "verdict", [approved(0), approved(2), approved() | {"passes": False}, changes_requested(1, "")]
)
def test_a_flawed_review_is_no_review(verdict: dict[str, Any]) -> None:
    found = after(tasks(raw(**needs_review())), "review", raw(**verdict))
    assert found.tasks.document["userStories"] == [raw(**needs_review())]
    assert found.problems


def test_a_review_that_changes_nothing_is_named_and_nothing_is_undone() -> None:
    found = after(tasks(raw(**needs_review())), "review", raw(**needs_review()))
    assert "review must increment reviewCount" in found.problems[0]
    assert not found.is_needed


def test_the_priorities_of_before_say_which_review_was_due() -> None:
    before = tasks(raw("A", 1, **needs_review()), raw("B", 2, **needs_review()))
    found = after(before, "review", raw("A", 9, **needs_review()), raw("B", 1, **approved()))
    assert [story.status for story in found.tasks.stories] == ["needs_review", "needs_review"]
    assert [story.priority for story in found.tasks.stories] == [9, 1]


# -- stories that come and go ---------------------------------------------------------------------
@pytest.mark.parametrize("mode", ITERATION_MODES)
def test_a_new_story_begins_at_the_beginning(mode: IterationMode) -> None:  # 004-17
    before = tasks(raw("A", 1, **changes_requested()))
    found = after(before, mode, raw("A", 1, **changes_requested()), raw("N", 2, **approved(), notes="sure"))
    assert found.tasks.document["userStories"][1] == raw("N", 2, notes="sure")
    fresh = after(before, mode, raw("A", 1, **changes_requested()), raw("N", 2))
    assert not fresh.is_needed


@pytest.mark.parametrize(
    ("mode", "gone", "stays_gone"),
    [
        ("implement", INITIAL, True),
        ("implement", needs_review(), False),
        ("implement", approved(), False),
        ("review", INITIAL, False),
        ("review-fix", INITIAL, False),
    ],
)
def test_a_removed_story_comes_back_to_its_place(mode: IterationMode, gone: dict[str, Any], stays_gone: bool) -> None:
    stories = [raw("A", 1), raw("B", 2, **gone), raw("C", 3)]
    found = after(tasks(*stories), mode, stories[0], stories[2])
    assert [story.id for story in found.tasks.stories] == (["A", "C"] if stays_gone else ["A", "B", "C"])
    assert ("B: put back" in found.undone) is not stays_gone


# -- the cap --------------------------------------------------------------------------------------
def test_at_the_cap_a_review_that_still_requests_changes_is_an_approval() -> None:  # 004-25
    found = after(tasks(raw(**needs_review())), "review", raw(**changes_requested(1, "too slow")), cap=1)
    assert found.tasks.document["userStories"] == [
        raw(**approved()) | {"reviewFeedback": "[AUTO-APPROVED AT CAP] too slow"}
    ]
    assert (found.approved, found.undone, found.problems) == (("A",), (), ())
    assert found.is_needed


def test_below_the_cap_it_is_not() -> None:  # 004-25
    found = after(tasks(raw(**needs_review())), "review", raw(**changes_requested(1, "too slow")), cap=2)
    assert not found.is_needed


def test_an_approval_at_the_cap_needs_no_second_prefix_and_no_notes_of_the_agent() -> None:  # 004-15, 004-25
    before = tasks(raw(**needs_review(1), notes=""))
    asked = raw(**changes_requested(2, "[AUTO-APPROVED AT CAP] slow"), notes="")
    (story,) = after(before, "review", asked, cap=2).tasks.stories
    assert story.feedback == "[AUTO-APPROVED AT CAP] slow"
    assert story.notes == "Approved by ralph after 2 reviews; see reviewFeedback."


# -- the form -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        '{"project": "demo", "userStories": [{"id": "A"',
        "[]",
        '{"userStories": 5}',
        '{"userStories": [5]}',
        '{"userStories": [{"id": ""}]}',
        json.dumps(document(raw(), raw())),
    ],
)
@pytest.mark.parametrize("skip_review", [False, True])
def test_a_missing_or_broken_file_is_put_back_whole(text: str | None, skip_review: bool) -> None:  # C18
    before = tasks(raw(**needs_review()), raw("B", 2, **approved()))
    found = repair_story_file(before, text, mode="review", cap=CAP, skip_review=skip_review)
    assert found.tasks is before
    assert found.problems
    assert found.is_needed


def test_a_malformed_field_is_put_back_alone() -> None:  # 004-15
    before = tasks(raw(**needs_review(2)), raw("B", 2))
    broken = raw(reviewStatus="approved!", reviewCount="3", passes=True, notes="my notes", acceptanceCriteria=[])
    found = after(before, "review", broken, raw("B", 2, notes="more"))
    assert found.tasks.document["userStories"] == [raw(**needs_review(2), notes="my notes"), raw("B", 2, notes="more")]
    assert "Story A: 'reviewCount' must be a non-negative integer, not \"3\"." in found.problems


def test_a_new_story_that_lacks_something_is_completed_not_lost() -> None:
    found = after(tasks(raw()), "implement", raw(), {"id": "N", "title": "what I found"})
    (_, new) = found.tasks.stories
    assert (new.id, new.title, new.priority, new.state) == ("N", "what I found", 2, (False, None, 0))
    assert found.tasks.document["userStories"][1]["acceptanceCriteria"] == ["what I found"]
    assert "Story N: 'passes' is missing." in found.problems


@pytest.mark.parametrize(
    ("field", "value", "good"), [("reviewCount", 0.0, 0), ("passes", 0, False), ("priority", float("inf"), 1)]
)
def test_what_only_looks_like_the_value_is_put_right(field: str, value: object, good: object) -> None:  # 004-15
    found = after(tasks(raw()), "implement", raw() | {field: value})
    assert found.is_needed
    written_back = parse_story_file(render_story_file(found.tasks))
    assert written_back.problems == ()
    assert repr(written_back.document["userStories"][0][field]) == repr(good)


@pytest.mark.parametrize("mode", ITERATION_MODES)
def test_a_list_without_stories_is_put_back(mode: IterationMode) -> None:  # C18
    before = tasks(raw())
    found = after(before, mode)
    assert found.tasks is before
    assert found.problems == ("tasks.json has no user stories left.",)


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (["make test"], None),
        (["make test", "make lint"], None),
        (["make lint", "make test"], None),
        (["true"], ["make test", "true"]),
        ([], ["make test"]),
        (None, ["make test"]),
        ("make test", ["make test"]),
    ],
)
@pytest.mark.parametrize("skip_review", [False, True])
def test_checks_may_be_added_and_none_taken_away(now: object, then: object, skip_review: bool) -> None:  # C18
    before = validate_document(document(raw()) | {"verifyCommands": ["make test"]})
    text = json.dumps(document(raw()) | {"verifyCommands": now})
    found = repair_story_file(before, text, mode="implement", cap=CAP, skip_review=skip_review)
    assert found.tasks.document["verifyCommands"] == (now if then is None else then)
    assert found.is_needed is (then is not None)
    assert bool(found.problems) is found.is_needed


def test_the_head_of_the_file_is_put_back() -> None:
    found = repair_story_file(
        tasks(raw()), json.dumps({"userStories": [raw()]}), mode="implement", cap=CAP, skip_review=False
    )
    assert found.tasks.document["project"] == "demo"
    assert found.undone == tuple(f"tasks.json: {field} put back" for field in ("project", "branchName", "description"))


def test_the_branch_of_the_loop_is_the_users() -> None:  # C34
    changed = {**tasks(raw()).document, "branchName": "ralph/mine"}
    found = repair_story_file(tasks(raw()), json.dumps(changed), mode="review", cap=CAP, skip_review=False)
    assert found.tasks.document["branchName"] == "ralph/demo"
    assert found.undone == ("tasks.json: branchName put back",)
    assert "'branchName'" in found.problems[0]


def test_what_a_story_asks_for_is_the_users() -> None:
    before = tasks(raw() | {"description": "Add two numbers."})
    found = after(before, "implement", raw(**needs_review()) | {"description": "Nothing to do.", "title": "better"})
    (story,) = found.tasks.document["userStories"]
    assert (story["description"], story["title"]) == ("Add two numbers.", "better")
    assert "'description'" in found.problems[0]
    assert any("description" in line for line in found.undone)


def test_nothing_passes_without_notes() -> None:  # 004-15
    found = after(tasks(raw(**needs_review(), notes="")), "review", raw(**approved(), notes=""))
    assert found.tasks.document["userStories"] == [raw(**needs_review(), notes="")]
    assert [problem for problem in found.problems if "reviewCount" in problem] == []
    kept = after(tasks(raw(**needs_review())), "review", raw(**approved(), notes=" "))
    assert kept.tasks.document["userStories"] == [raw(**approved())]


def test_without_reviews_only_the_form_counts() -> None:  # 004-20, 004-26
    found = after(tasks(raw(), raw("B", 2)), "implement", raw(passes=True), skip_review=True)
    assert not found.is_needed
    assert found.problems == ()
    unnoted = after(tasks(raw(notes="")), "implement", raw(passes=True, notes=""), skip_review=True)
    assert unnoted.undone == ("A: passes true → false",)


def test_without_reviews_nobody_writes_a_verdict() -> None:  # 004-26
    verdicts = (raw(**approved()), raw("B", 2, **approved()))
    found = after(tasks(raw()), "implement", *verdicts, skip_review=True)
    assert [story.state for story in found.tasks.stories] == [(True, None, 0)] * 2
    assert found.undone[:2] == ('A: reviewStatus "approved" → null', "A: reviewCount 1 → 0")
    cut_off = after(tasks(raw(**needs_review())), "review", raw(**approved()), skip_review=True)
    assert not cut_off.is_needed


def test_without_reviews_what_is_done_stays_on_the_list() -> None:  # 004-26
    found = after(tasks(raw(passes=True), raw("B", 2)), "implement", raw("B", 2, passes=True), skip_review=True)
    assert found.undone == ("A: put back",)
    assert [story.passes for story in found.tasks.stories] == [True, True]


@pytest.mark.parametrize(("title", "shown"), [("Größe ändern", "Größe ändern"), ("\ud800", r"\ud800")])
def test_what_is_written_can_be_read_again(title: str, shown: str) -> None:
    found = tasks(raw() | {"title": title})
    text = render_story_file(found)
    assert shown in text
    assert parse_story_file(text.encode().decode()).document == found.document


# -- properties -----------------------------------------------------------------------------------
VALID = [INITIAL, INITIAL | {"reviewCount": 1}, needs_review(), needs_review(1), changes_requested(), approved()]
ANY: list[dict[str, Any]] = [
    {"passes": p, "reviewStatus": s, "reviewCount": c, "reviewFeedback": f}
    for p, s, c, f in product(
        (False, True), (None, "needs_review", "changes_requested", "approved"), (0, 1, 2), ("", "say why")
    )
]


def holds(before: StoryFile, mode: IterationMode, found: Repair, cap: int) -> None:
    """What is left is legal (a review that was none is all that may be missing), and setting it right again is idle."""
    again = repair_story_file(before, json.dumps(found.tasks.document), mode=mode, cap=cap, skip_review=False)
    states, stories = take_review_snapshot(before.stories), found.tasks.stories
    priorities = {story.id: story.priority for story in before.stories}
    assert not found.tasks.problems
    assert not [*find_invariant_problems(stories, cap)]
    left = [] if found.approved else [*find_transition_problems(states, stories, mode, priorities)]
    assert not left or (mode == "review" and "review must increment" in left[0] and len(left) == 1)
    if found.approved:
        assert [problem for problem in again.problems if "feedback" in problem.casefold()] == []
    assert again.tasks.document == found.tasks.document
    assert not again.is_needed


def pairs(options: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for first, second in product([None, *options], repeat=2):
        yield [raw(id_, n, **f) for id_, n, f in (("A", 1, first), ("B", 2, second)) if f is not None]


@pytest.mark.parametrize("mode", ITERATION_MODES)
@pytest.mark.parametrize("was", VALID, ids=str)
def test_every_change_of_one_story_is_set_right(mode: IterationMode, was: dict[str, Any]) -> None:
    before = tasks(raw(**was))
    for now in [None, *ANY]:
        stories = [] if now is None else [raw(**now)]
        for cap in (1, CAP):
            found = after(before, mode, *stories, cap=cap)
            holds(before, mode, found, cap)
            assert bool(found.undone) <= bool(found.problems)


@given(
    was=st.sampled_from([*pairs(VALID)]),
    now=st.lists(st.sampled_from(ANY), max_size=3),
    ids=st.permutations("ABN"),
    mode=st.sampled_from(ITERATION_MODES),
    cap=st.integers(1, 3),
)
def test_every_change_of_many_stories_is_set_right(
    was: list[dict[str, Any]], now: list[dict[str, Any]], ids: list[str], mode: IterationMode, cap: int
) -> None:
    before = tasks(*was)
    stories = [raw(id_, n, **fields) for n, (id_, fields) in enumerate(zip(ids, now, strict=False), 1)]
    found = after(before, mode, *stories, cap=cap)
    holds(before, mode, found, cap)
    if not found.problems and not found.approved:
        assert found.tasks.document == document(*stories)
        assert not found.is_needed


def test_a_verdict_of_a_review_that_does_not_count_is_undone_and_the_rest_stays() -> None:
    before = tasks(raw(reviewStatus="needs_review", notes="n"))
    verdict = raw(reviewStatus="approved", passes=True, reviewCount=1, notes="looked at")
    text = json.dumps(document(verdict))
    found = repair_story_file(before, text, mode="review", cap=CAP, skip_review=False, is_void=True)
    assert found.is_needed
    (story,) = found.tasks.document["userStories"]
    assert (story["passes"], story["reviewStatus"], story["reviewCount"]) == (False, "needs_review", 0)
    assert story["notes"] == "looked at"


def test_criteria_that_an_agent_weakens_are_put_back_and_what_it_adds_stays() -> None:
    before = tasks(raw(acceptanceCriteria=["2 and 3 is 5", "0 is 0"]))
    weaker = raw(acceptanceCriteria=["add is there", "0 is 0"])
    for skip_review in (False, True):
        found = repair_story_file(
            before, json.dumps(document(weaker)), mode="implement", cap=CAP, skip_review=skip_review
        )
        (story,) = found.tasks.document["userStories"]
        assert story["acceptanceCriteria"] == ["2 and 3 is 5", "0 is 0", "add is there"]
        assert len(found.criteria) == 1
        assert any("acceptanceCriteria put back: 2 and 3 is 5" in line for line in found.undone)
    more = raw(acceptanceCriteria=["2 and 3 is 5", "0 is 0", "1 is 1"])
    kept = repair_story_file(before, json.dumps(document(more)), mode="implement", cap=CAP, skip_review=False)
    assert not kept.criteria
    assert not kept.is_needed
