"""Which story comes next."""

from typing import Any

import pytest

from ralph.core.stories.review import Story
from ralph.core.stories.story_order import choose_next_story, find_blocked_stories, find_plan_problems


def story(id_: str, priority: float, *needs: str, **fields: Any) -> Story:
    return Story(
        {
            "id": id_,
            "title": id_,
            "priority": priority,
            "passes": False,
            "reviewStatus": None,
            "reviewCount": 0,
            "reviewFeedback": "",
            "dependsOn": list(needs),
            **fields,
        }
    )


DONE: dict[str, Any] = {"passes": True, "reviewStatus": "approved", "reviewCount": 1}
WAITING: dict[str, Any] = {"reviewStatus": "needs_review"}


@pytest.mark.parametrize(
    ("stories", "chosen"),
    [
        ([story("A", 2), story("B", 1)], "B"),  # the lowest number is the highest priority
        ([story("A", 1), story("B", 1)], "A"),  # of equals the first in the file
        ([story("A", 1.5), story("B", 1.25)], "B"),
        ([story("A", 1, "B"), story("B", 2)], "B"),  # dependencies come before priorities
        ([story("A", 1, "B"), story("B", 2, **DONE)], "A"),
        ([story("A", 1, "B"), story("B", 2, passes=True)], None),  # passing without approval is not done
        ([story("A", 1, "B"), story("B", 2, **WAITING)], None),
        ([story("A", 1, **WAITING), story("B", 2)], "B"),  # only what has not been worked on
        ([story("A", 1, "nowhere"), story("B", 2)], "B"),
        ([story("A", 1, "A")], None),
        ([story("A", 1, **DONE)], None),
        ([], None),
    ],
)
def test_the_highest_priority_that_waits_for_nothing_comes_next(
    stories: list[Story], chosen: str | None
) -> None:  # 004-23
    found = choose_next_story(stories, skip_review=False)
    assert (found.id if found else None) == chosen


def test_without_reviews_passing_is_enough() -> None:  # 004-26
    stories = [story("A", 1, "B"), story("B", 2, passes=True), story("C", 3, **WAITING)]
    found = choose_next_story(stories, skip_review=True)
    assert found is stories[0]
    found = choose_next_story(stories[1:], skip_review=True)
    assert found is stories[2]


def test_what_is_blocked_is_told_with_what_it_waits_for() -> None:
    stories = [story("A", 1, "B", "C", "nowhere"), story("B", 2, **DONE), story("C", 3, "A"), story("D", 4, **WAITING)]
    assert find_blocked_stories(stories, skip_review=False) == {"A": ("C", "nowhere"), "C": ("A",)}


@pytest.mark.parametrize(
    ("stories", "problems"),
    [
        ([story("A", 1), story("B", 1, "A")], []),
        ([], ["tasks.json has no user stories."]),
        ([story("A", 1, "X", "Y")], ["Story A depends on 'X', 'Y', which tasks.json does not have."]),
        ([story("A", 1, "B"), story("B", 1, "A")], ["Stories wait for each other: A → B → A."]),
        ([story("A", 1, "A")], ["Stories wait for each other: A → A."]),
        (
            [story("A", 1, reviewStatus="approved")],
            ["Story A has reviewStatus 'approved' but passes=false: the two are out of sync."],
        ),
        ([story("A", 1, reviewStatus="needs_review", reviewCount=2)], []),
        (
            [story("A", 1, reviewStatus="needs_review", reviewCount=3)],
            ["Story A still needs a review but has had 3: raise the review cap to 3."],
        ),
        ([story("A", 1, passes=True, reviewStatus="approved", reviewCount=3)], []),
    ],
)
def test_a_loop_does_not_begin_with_what_it_cannot_end(stories: list[Story], problems: list[str]) -> None:
    assert find_plan_problems(stories, cap=2, skip_review=False) == problems


def test_without_reviews_their_fields_do_not_matter() -> None:
    stories = [story("A", 1, reviewStatus="approved", reviewCount=9)]
    assert find_plan_problems(stories, cap=2, skip_review=True) == []
