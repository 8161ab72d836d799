from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.supervised.task_ids import find_project_id_problem, find_task_id_problem


def at_noon(slug: str) -> str:
    return f"task-20260220-120000-{slug}"


@pytest.mark.parametrize(
    "task_id", ["task-20260220-153045-my-feature", at_noon("abc"), at_noon("x" * 50), at_noon("a1-2b"), at_noon("123")]
)
def test_ids_of_the_form_are_valid(task_id: str) -> None:  # §4 IDs
    assert find_task_id_problem(task_id) == ""


@pytest.mark.parametrize(
    ("task_id", "problem"),
    [
        ("my-task", "form"),
        ("task-foo", "form"),
        ("task-001", "form"),
        ("", "form"),
        ("Task-20260220-153045-my-feature", "form"),
        (" task-20260220-153045-my-feature", "form"),
        ("task-20260220-my-feature", "form"),
        ("task-２０２６0220-153045-my-feature", "form"),
        ("task-20261399-153045-my-feature", "no time"),
        ("task-20260220-996045-my-feature", "no time"),
        (at_noon("a"), "1 characters"),
        (at_noon("ab"), "2 characters"),
        (at_noon("x" * 51), "51 characters"),
        (at_noon(""), "0 characters"),
        (at_noon("My-Feature"), "lower-case"),
        (at_noon("my_feature"), "lower-case"),
        (at_noon("my-feature\n"), "lower-case"),
        (at_noon("../escape"), "lower-case"),
        (at_noon("-edge"), "hyphen"),
        (at_noon("edge-"), "hyphen"),
    ],
)
def test_what_is_wrong_with_a_task_id_is_said(task_id: str, problem: str) -> None:  # §4 IDs
    assert problem in find_task_id_problem(task_id)
    assert "\n" not in find_task_id_problem(task_id)


@pytest.mark.parametrize("project_id", ["a", "my-project", "p2", "0"])
def test_plain_words_are_projects(project_id: str) -> None:  # §4 IDs
    assert find_project_id_problem(project_id) == ""


@pytest.mark.parametrize(
    ("project_id", "problem"),
    [
        ("", "empty"),
        ("../escape", "lower-case"),
        ("a/b", "lower-case"),
        (".", "lower-case"),
        ("..", "lower-case"),
        ("my_project", "lower-case"),
        ("Project", "lower-case"),
        ("nul\0", "lower-case"),
        ("line\n", "lower-case"),
        ("-a", "hyphen"),
        ("a-", "hyphen"),
        ("a" * 256, "255"),
    ],
)
def test_what_is_wrong_with_a_project_id_is_said(project_id: str, problem: str) -> None:  # §4 IDs
    assert problem in find_project_id_problem(project_id)


@given(st.integers(0, 2**34), st.from_regex(r"[a-z0-9][a-z0-9-]{1,48}[a-z0-9]", fullmatch=True))
def test_any_time_and_slug_make_a_valid_id(at: int, slug: str) -> None:
    assert find_task_id_problem(f"task-{datetime.fromtimestamp(at, UTC):%Y%m%d-%H%M%S}-{slug}") == ""


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    assert find_task_id_problem(text)
    problem = find_project_id_problem(text)
    assert problem or (text.isascii() and text == text.lower() and "/" not in text)
