"""The review cycle: the seed's 22 cases, its life of a story, and every change two stories can undergo."""

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.stories.review import (
    DEFAULT_REVIEW_CAP,
    ITERATION_MODES,
    ActiveMarker,
    IterationMode,
    ReviewSnapshot,
    ReviewState,
    Story,
    StoryFile,
    choose_mode,
    find_invariant_problems,
    find_transition_problems,
    is_list_done,
    judge_story_file,
    parse_marker,
    parse_story_file,
    render_review_snapshot,
    take_review_snapshot,
    validate_document,
)

STATUSES = (None, "needs_review", "changes_requested", "approved")


def raw(id_: str = "US-001", **fields: Any) -> dict[str, Any]:
    """A valid story as the file has it."""
    return {
        "id": id_,
        "title": "a story",
        "description": "",
        "acceptanceCriteria": ["it works"],
        "priority": 1,
        "passes": False,
        "reviewStatus": None,
        "reviewCount": 0,
        "reviewFeedback": "",
        "notes": "done so",
        "dependsOn": [],
        **fields,
    }


def document(*stories: Any, **fields: Any) -> dict[str, Any]:
    return {
        "project": "demo",
        "branchName": "ralph/demo",
        "description": "",
        "verifyCommands": [],
        "userStories": list(stories),
        **fields,
    }


def tasks(*stories: Any) -> StoryFile:
    found = validate_document(document(*stories))
    assert not found.problems
    return found


def story(
    passes: bool, status: str | None, *, count: int = 0, feedback: str = "", id_: str = "US-001"
) -> dict[str, Any]:
    return raw(id_, passes=passes, reviewStatus=status, reviewCount=count, reviewFeedback=feedback)


def marker(mode: str | None = None, before: dict[str, ReviewState] | None = None, **fields: Any) -> ActiveMarker:
    return ActiveMarker(
        {
            "timestamp": "2025-06-15T10:30:00Z",
            "pid": 12345,
            "max_iterations": 15,
            "mode": "direct",
            "skipReview": False,
            "reviewCap": 5,
            **({} if mode is None else {"iterationMode": mode}),
            **({} if before is None else {"preIterationSnapshot": render_review_snapshot(before)}),
            **fields,
        }
    )


def transitions(
    before: ReviewSnapshot, after: Sequence[Story], mode: IterationMode, priorities: dict[str, float] | None = None
) -> list[str]:
    return [*find_transition_problems(before, after, mode, priorities)]


def invariants(stories: Sequence[Story], cap: int) -> list[str]:
    return [*find_invariant_problems(stories, cap)]


ASKS_FOR_CHANGES = "main.py:3 divides by zero"
ONE, TWO = "US-001", "US-002"

# The verification plan of the seed, in its order: marker, stories after, the words of the reason (None: it passes).
SEED_CASES: dict[str, tuple[ActiveMarker, list[dict[str, Any]], str | None]] = {
    # Review integrity enforcement (check 2), 004-16
    "1 passes, null": (marker(), [story(True, None)], "not 'approved'"),
    "2 passes, needs_review": (marker(), [story(True, "needs_review")], "not 'approved'"),
    "3 passes, changes_requested": (
        marker(),
        [story(True, "changes_requested", count=1, feedback="x")],
        "not 'approved'",
    ),
    "4 passes, approved": (marker(), [story(True, "approved", count=1)], None),
    "5 changes_requested without feedback": (
        marker(),
        [story(False, "changes_requested", count=1, feedback=" \n")],
        "feedback required",
    ),
    "6 approved, does not pass": (marker(), [story(False, "approved", count=1)], "out of sync"),
    "7 negative count": (
        marker(),
        [story(False, None, count=-1)],
        "'reviewCount' must be a non-negative integer, not -1",
    ),
    "8 skip-review": (marker("implement", {ONE: (False, None, 0)}, skipReview=True), [story(True, None)], None),
    # Transition validation (check 2.5), 004-17 … 004-20
    "9 implement passes": (
        marker("implement", {ONE: (False, None, 0)}),
        [story(True, None)],
        "implement iterations cannot set passes=true",
    ),
    "10 implement approves": (
        marker("implement", {ONE: (False, None, 0)}),
        [story(True, "approved")],
        "cannot set passes=true or approve stories",
    ),
    "11 implement counts": (
        marker("implement", {ONE: (False, None, 0)}),
        [story(False, None, count=1)],
        "implement iterations cannot increment reviewcount",
    ),
    "12 implement submits": (marker("implement", {ONE: (False, None, 0)}), [story(False, "needs_review")], None),
    "13 implement adds": (
        marker("implement", {ONE: (False, None, 0)}),
        [story(False, None), story(False, None, id_=TWO)],
        None,
    ),
    "14 implement adds a finished one": (
        marker("implement", {ONE: (False, None, 0)}),
        [story(False, None), story(True, "approved", id_=TWO)],
        "new stories must start incomplete",
    ),
    "15 review approves": (
        marker("review", {ONE: (False, "needs_review", 1)}),
        [story(True, "approved", count=2)],
        None,
    ),
    "16 review requests changes": (
        marker("review", {ONE: (False, "needs_review", 1)}),
        [story(False, "changes_requested", count=2, feedback=ASKS_FOR_CHANGES)],
        None,
    ),
    "17 review does not count": (
        marker("review", {ONE: (False, "needs_review", 1)}),
        [story(True, "approved", count=1)],
        "review must increment reviewcount",
    ),
    "18 review of two": (
        marker("review", {ONE: (False, "needs_review", 1), TWO: (False, "needs_review", 1)}),
        [story(True, "approved", count=2), story(True, "approved", count=2, id_=TWO)],
        "review may only modify one story",
    ),
    "19 review-fix passes": (
        marker("review-fix", {ONE: (False, "changes_requested", 1)}),
        [story(True, "approved", count=1)],
        "review-fix iterations cannot approve",
    ),
    "20 review-fix resubmits": (
        marker("review-fix", {ONE: (False, "changes_requested", 1)}),
        [story(False, "needs_review", count=1)],
        None,
    ),
    "21 review-fix counts": (
        marker("review-fix", {ONE: (False, "changes_requested", 1)}),
        [story(False, "needs_review", count=2)],
        "review-fix iterations cannot increment reviewcount",
    ),
    "22 no snapshot": (marker("implement"), [story(True, None)], "not 'approved'"),
}


@pytest.mark.parametrize(("active", "stories", "reason"), SEED_CASES.values(), ids=SEED_CASES)
def test_the_22_cases_of_the_seed(
    active: ActiveMarker, stories: list[dict[str, Any]], reason: str | None
) -> None:  # 004-31
    problems, _ = judge_story_file(validate_document(document(*stories)), active)
    if reason is None:
        assert problems == []
    else:
        assert reason.casefold() in "\n".join(problems).casefold()


def test_without_a_snapshot_or_a_mode_transitions_are_skipped_with_a_warning() -> None:  # 004-20
    valid = validate_document(document(story(True, "approved", count=1)))
    for active in (marker(), marker("implement"), marker(None, {ONE: (False, None, 0)}), marker("dance", {})):
        problems, warnings = judge_story_file(valid, active)
        assert problems == []
        assert "transitions not checked" in warnings[0]
    assert judge_story_file(valid, marker("review", {ONE: (False, "needs_review", 0)})) == ([], [])


def test_skip_review_skips_both_checks_without_a_warning() -> None:  # 004-20
    assert judge_story_file(validate_document(document(story(True, None))), marker(skipReview=True)) == ([], [])


# -- the exact words of the seed ------------------------------------------------------------------
@pytest.mark.parametrize("status", [None, "needs_review", "changes_requested"])
def test_passing_without_approval_is_told_in_the_words_of_the_seed(status: str | None) -> None:  # 004-16
    (problem,) = invariants(tasks(story(True, status, count=1, feedback="x")).stories, 5)
    assert problem == (
        f"Story US-001 has passes=true but reviewStatus is '{status or 'null'}', not 'approved'. Only review "
        "iterations may approve stories. Set passes back to false or complete the review cycle."
    )


def test_transitions_are_told_in_the_words_of_the_seed() -> None:  # 004-17, 004-18, 004-19
    assert transitions({ONE: (False, None, 0)}, tasks(story(True, "approved")).stories, "implement") == [
        "Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. "
        f"Story US-001 had illegal transition: {change}."
        for change in ("passes false → true", 'reviewStatus null → "approved"')
    ]
    assert transitions(
        {ONE: (False, "needs_review", 1)}, tasks(story(True, "approved", count=3)).stories, "review"
    ) == [
        "Review iteration made illegal transition on story US-001: review must increment reviewCount by 1 (here 1 → 3)."
    ]
    assert transitions(
        {ONE: (False, "changes_requested", 1)}, tasks(story(True, "approved", count=1)).stories, "review-fix"
    ) == [
        "Review-fix iterations cannot approve stories. Story US-001 must go back to needs_review for re-review. "
        f"Illegal transition: {change}."
        for change in ("passes false → true", 'reviewStatus "changes_requested" → "approved"')
    ]


@pytest.mark.parametrize(
    ("mode", "before", "after", "reason"),
    [
        ("implement", [(False, None, 0)] * 2, [story(False, "needs_review")] * 2, "may submit only one story"),
        (
            "review",
            [(False, None, 0)],
            [story(True, "approved", count=1)],
            "did not need review (its reviewStatus was null)",
        ),
        ("review", [(False, "needs_review", 0)], [story(False, "changes_requested", count=1)], "needs reviewFeedback"),
        (
            "review",
            [(False, "needs_review", 0)],
            [story(False, "approved", count=1)],
            "a review ends with approved and",
        ),
        ("review", [(False, "needs_review", 0)], [story(False, "needs_review")], "on story US-001: review must incr"),
        (
            "review",
            [(True, "approved", 1)],
            [story(True, "approved", count=1)],
            "on story (none): review must increment",
        ),
        (
            "review-fix",
            [(False, "changes_requested", 1)],
            [story(False, "needs_review", count=1, feedback="x")],
            "Clear reviewFeed",
        ),
    ],
)
def test_the_reason_says_what_to_do_instead(
    mode: IterationMode, before: list[ReviewState], after: list[dict[str, Any]], reason: str
) -> None:
    now = tasks(*(each | {"id": f"US-00{n}"} for n, each in enumerate(after, 1)))
    then = {f"US-00{n}": state for n, state in enumerate(before, 1)}
    assert any(reason in problem for problem in transitions(then, now.stories, mode))


def test_of_several_that_need_review_the_highest_priority_is_reviewed() -> None:
    waiting = {ONE: (False, "needs_review", 0), TWO: (False, "needs_review", 0)}
    first = story(False, "needs_review") | {"priority": 1}
    reviewed = story(True, "approved", count=1, id_=TWO)
    (problem,) = transitions(waiting, tasks(first, reviewed | {"priority": 2}).stories, "review")
    assert "US-001 comes first" in problem
    for priority in (0.5, 1):  # before the other, or beside it
        assert not transitions(waiting, tasks(first, reviewed | {"priority": priority}).stories, "review")


def test_the_priorities_of_before_count_where_they_are_known() -> None:
    waiting = {ONE: (False, "needs_review", 0), TWO: (False, "needs_review", 0)}
    pushed_forward = tasks(
        story(False, "needs_review") | {"priority": 9}, story(True, "approved", count=1, id_=TWO) | {"priority": 1}
    )
    assert not transitions(waiting, pushed_forward.stories, "review")
    assert transitions(waiting, pushed_forward.stories, "review", {ONE: 1, TWO: 2})


def test_a_count_may_exceed_the_cap_by_one_only() -> None:  # 004-16
    assert not invariants(tasks(story(False, "needs_review", count=3)).stories, 2)
    (problem,) = invariants(tasks(story(False, "needs_review", count=4)).stories, 2)
    assert "reviewCount 4" in problem


# -- every change two stories can undergo ---------------------------------------------------------
# The oracle: the table of the seed and the paragraph below it, as the kinds of change a single story can undergo.
Old = ReviewState | None  # None: the story is not in the file
New = tuple[bool, str | None, int, str] | None
# A count matters only as zero and by how much it changed: 1 becomes one less, the same or one more, 0 also two more.
BEFORE: list[Old] = [None, (False, None, 0), *product((False, True), STATUSES, (1,))]
AFTER: list[New] = [None, *product((False, True), STATUSES, (0, 1, 2), ("", "say why"))]
HARMLESS = {"same", "absent", "added in the initial state"}


def kind(old: Old, new: New) -> str:
    """What happened to one story."""
    match old, new:
        case None, None:
            return "absent"
        case None, (False, None, 0, _):
            return "added in the initial state"
        case None, _:
            return "added in another state"
        case (False, None, 0), None:
            return "removed before it was started"
        case _, None:
            return "removed"
        case (p, s, c), (q, t, d, _) if (p, s, c) == (q, t, d):
            return "same"
        case (p, None, c), (q, "needs_review", d, _) if (p, c) == (q, d):
            return "submitted"
        case (_, "needs_review", c), (True, "approved", d, _) if d == c + 1:
            return "approved"
        case (_, "needs_review", c), (False, "changes_requested", d, "say why") if d == c + 1:
            return "sent back"
        case (p, "changes_requested", c), (q, "needs_review", d, "") if (p, c) == (q, d):
            return "resubmitted"
        case _:
            return "something else"


@cache
def is_legal(mode: IterationMode, happened: tuple[str, str], waiting: tuple[bool, bool]) -> bool:
    """The first story has the higher priority; `waiting` says which needed review."""
    count = Counter(happened)
    verdicts = count["approved"] + count["sent back"]
    match mode:
        case "implement":
            allowed = HARMLESS | {"submitted", "removed before it was started"}
            return set(happened) <= allowed and count["submitted"] <= 1
        case "review":
            out_of_turn = happened[1] in ("approved", "sent back") and waiting[0]
            return set(happened) <= HARMLESS | {"approved", "sent back"} and verdicts == 1 and not out_of_turn
        case "review-fix":
            return set(happened) <= HARMLESS | {"resubmitted"} and count["resubmitted"] <= 1


def _as_stories(id_: str, priority: int) -> list[list[Story]]:
    return [
        [] if new is None else [Story(raw(id_, **dict(zip(_REVIEW, new, strict=True))) | {"priority": priority})]
        for new in AFTER
    ]


_REVIEW = ("passes", "reviewStatus", "reviewCount", "reviewFeedback")
FIRST, SECOND = _as_stories("A", 1), _as_stories("B", 2)


@pytest.mark.parametrize("first", BEFORE, ids=str)
@pytest.mark.parametrize("mode", ITERATION_MODES)
def test_every_change_of_two_stories_is_judged_as_the_table_says(
    mode: IterationMode, first: Old
) -> None:  # 004-17 … 004-19
    kinds_of_first = [kind(first, new) for new in AFTER]
    for second in BEFORE:
        kinds_of_second = [kind(second, new) for new in AFTER]
        before = {id_: old for id_, old in (("A", first), ("B", second)) if old is not None}
        waiting = (first is not None and first[1] == "needs_review", second is not None and second[1] == "needs_review")
        for (a, kind_a), (b, kind_b) in product(
            zip(FIRST, kinds_of_first, strict=True), zip(SECOND, kinds_of_second, strict=True)
        ):
            problem = next(find_transition_problems(before, a + b, mode), None)
            if (problem is None) != is_legal(mode, (kind_a, kind_b), waiting):
                pytest.fail(f"{before} → {[story.state for story in a + b]}: {problem or 'accepted'}")


@pytest.mark.parametrize("new", [new for new in AFTER if new], ids=str)
def test_every_state_of_a_story_is_sound_or_not_as_the_seed_says(new: tuple[bool, str | None, int, str]) -> None:
    passes, status, count, feedback = new
    sound = passes is (status == "approved") and (status, feedback) != ("changes_requested", "")
    for cap in (0, 1, 2):
        found = invariants([Story(raw() | dict(zip(_REVIEW, new, strict=True)))], cap)
        assert (not found) == (sound and count <= cap + 1)


# -- the life of a story --------------------------------------------------------------------------
def test_the_life_of_a_story() -> None:  # 004-07, 004-08; §4 "Review lifecycle"
    life = [
        (story(False, None, count=0), "implement"),
        (story(False, "needs_review", count=0), "review"),
        (story(False, "changes_requested", count=1, feedback=ASKS_FOR_CHANGES), "review-fix"),
        (story(False, "needs_review", count=1), "review"),
        (story(True, "approved", count=2), "implement"),
    ]
    for (now, mode), (then, _) in pairwise(life):
        before, after = tasks(now).stories, tasks(then).stories
        assert choose_mode(before, skip_review=False) == mode
        assert not is_list_done(before, skip_review=False)
        assert judge_story_file(tasks(then), marker(mode, take_review_snapshot(before))) == ([], [])
        assert not transitions(take_review_snapshot(before), after, choose_mode(before, skip_review=False))
    assert is_list_done(tasks(life[-1][0]).stories, skip_review=False)


@pytest.mark.parametrize(
    ("statuses", "mode"),
    [
        ([], "implement"),
        ([None, "approved"], "implement"),
        (["approved", "needs_review", None], "review"),
        (["needs_review", "changes_requested", None], "review-fix"),
    ],
)
def test_feedback_comes_before_review_and_review_before_new_work(
    statuses: Sequence[str | None], mode: IterationMode
) -> None:  # 004-07
    stories = [Story(story(False, status, count=0, feedback="x")) for status in statuses]
    assert choose_mode(stories, skip_review=False) == mode
    assert choose_mode(stories, skip_review=True) == "implement"  # 004-26


@pytest.mark.parametrize(
    ("states", "reviewed", "unreviewed"),
    [
        ([(True, "approved")], True, True),
        ([(True, "approved"), (True, "approved")], True, True),
        ([(True, "approved"), (True, None)], False, True),
        ([(True, None)], False, True),
        ([(False, "approved")], False, False),
        ([(True, "approved"), (False, None)], False, False),
        ([], False, False),
    ],
)
def test_complete_means_every_story_passes_and_is_approved(
    states: list[tuple[bool, str | None]], reviewed: bool, unreviewed: bool
) -> None:  # 004-08, 004-26
    stories = [Story(story(passes, status)) for passes, status in states]
    assert is_list_done(stories, skip_review=False) is reviewed
    assert is_list_done(stories, skip_review=True) is unreviewed


# -- the form of the file -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ('{"project": NaN}', "not valid JSON: NaN is not JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "must hold one JSON object"),
        ("null", "must hold one JSON object"),
    ],
)
def test_what_is_no_task_list_at_all(text: str, reason: str) -> None:  # 004-15
    found = parse_story_file(text)
    assert reason in found.problems[0]
    assert found.stories == ()


@pytest.mark.parametrize("field", ["project", "description", "userStories"])
def test_the_fields_above_the_stories_are_required(field: str) -> None:  # 004-15
    whole = document(raw())
    del whole[field]
    assert validate_document(whole).problems == (f"tasks.json: required field '{field}' is missing.",)
    assert f"'{field}' must be" in validate_document(document(raw()) | {field: 5}).problems[0]


def test_a_missing_branch_is_a_warning() -> None:  # C22
    whole = document(raw())
    del whole["branchName"]
    assert validate_document(whole).problems == ()
    assert validate_document(whole).warnings == ("tasks.json: 'branchName' is missing.",)


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("id", [5, None, "", " ", "two\nlines", "\ud800", "\x1b[31m", "x" * 101]),
        ("title", [5, None]),
        ("passes", ["true", 1, None]),
        ("priority", ["1", None, True]),
        ("acceptanceCriteria", [[], "it works", None]),
        ("reviewStatus", ["", "done", 5, False, [], "NEEDS_REVIEW"]),
        ("reviewCount", [-1, 1.5, "1", True, None]),
        ("reviewFeedback", [None, 5, []]),
        ("notes", [5, ["x"]]),
        ("dependsOn", ["US-001", [5], {}]),
    ],
)
def test_every_field_of_a_story_has_its_form(field: str, bad: list[object]) -> None:  # 004-15
    for value in bad:
        (problem,) = validate_document(document(raw() | {field: value})).problems
        assert f": '{field}' must be " in problem
        assert problem.startswith("Story #1" if field == "id" else "Story US-001")
    without = raw()
    del without[field]
    optional = field in ("notes", "dependsOn")
    assert bool(validate_document(document(without)).problems) is not optional


def test_a_byte_order_mark_is_no_part_of_the_list() -> None:
    assert parse_story_file("\ufeff" + json.dumps(document(raw()))).problems == ()


def test_what_would_exhaust_a_stack_is_refused_before_it_does() -> None:  # 004-15
    nested = json.dumps(document(raw() | {"notes": "X"})).replace('"X"', "[" * 900 + "]" * 900)
    assert parse_story_file(nested).problems == ("tasks.json is nested too deeply.",)
    assert parse_story_file(json.dumps(document(raw() | {"extra": [[[{"a": [1]}]]]}))).problems == ()


def test_a_number_that_could_not_be_written_again_is_none() -> None:  # 004-15
    text = json.dumps(document(raw())).replace('"priority": 1', '"priority": 1e999')
    assert parse_story_file(text).problems == ("Story US-001: 'priority' must be a number, not Infinity.",)


def test_what_is_said_twice_counts_as_it_is_said_last() -> None:
    (found,) = parse_story_file(
        json.dumps(document(raw())).replace('"passes": false', '"passes": true, "passes": false')
    ).stories
    assert found.passes is False


def test_ids_are_unique() -> None:  # 004-15; §4 "Duplicate"
    assert validate_document(document(raw(), raw(TWO), raw())).problems == ("Duplicate story id 'US-001'.",)


@pytest.mark.parametrize("notes", ["", "  \n", None])
def test_nothing_passes_without_notes(notes: str | None) -> None:  # 004-15
    (problem,) = validate_document(document(story(True, "approved", count=1) | {"notes": notes})).problems
    assert problem == "Story US-001 has passes=true but empty notes. Write in 'notes' what was done."
    assert not validate_document(document(story(False, "needs_review", count=1) | {"notes": notes})).problems


def test_fields_nobody_asked_for_do_not_matter() -> None:
    assert not validate_document(document(raw() | {"estimate": 3}, epic="x")).problems


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_no_json_is_too_strange_to_be_judged(value: object) -> None:
    for strange in (value, document(value), document(raw() | {"id": value}), document(raw() | {"reviewStatus": value})):
        found = parse_story_file(json.dumps(strange))
        assert bool(found.problems) != bool(found.stories) or found.document.get("userStories") == []
        judge_story_file(found, parse_marker(json.dumps({"preIterationSnapshot": value, "iterationMode": value})))


# -- the marker -----------------------------------------------------------------------------------
def test_the_marker_of_the_seed_is_understood() -> None:  # 004-06
    read_ = parse_marker(
        """{"timestamp": "2025-06-15T10:30:00Z", "pid": 12345, "max_iterations": 15, "mode": "sandbox",
        "skipReview": false, "reviewCap": 3, "iterationMode": "implement", "preIterationSnapshot": {
        "US-001": {"passes": false, "reviewStatus": null, "reviewCount": 0},
        "US-002": {"passes": true, "reviewStatus": "approved", "reviewCount": 1}}}"""
    )
    assert read_.snapshot == {ONE: (False, None, 0), TWO: (True, "approved", 1)}
    assert (read_.cap, read_.iteration_mode, read_.skip_review, read_.run_mode) == (3, "implement", False, "sandbox")


def test_a_snapshot_survives_the_marker() -> None:
    states: ReviewSnapshot = {ONE: (False, "changes_requested", 3), TWO: (True, "approved", 1)}
    assert parse_marker(json.dumps({"preIterationSnapshot": render_review_snapshot(states)})).snapshot == states


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "{}",
        '{"reviewCap": 0, "iterationMode": "x", "preIterationSnapshot": [], "skipReview": "true", "mode": 5}',
        '{"reviewCap": true, "preIterationSnapshot": {"US-001": {"passes": false}}}',
        '{"reviewCap": "9", "preIterationSnapshot": {"US-001": {"passes": 0, "reviewStatus": null, "reviewCount": 0}}}',
    ],
)
def test_what_a_marker_does_not_say_is_not_guessed(text: str) -> None:
    read_ = parse_marker(text)
    assert read_.cap == DEFAULT_REVIEW_CAP
    assert (read_.iteration_mode, read_.snapshot, read_.skip_review, read_.run_mode) == (None, None, False, None)
