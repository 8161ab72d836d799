"""What a later stage wants changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.claims import extract_promise
from ralph.core.tasks.changes import extract_changes
from ralph.core.text.fences import classify_fenced_lines


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<changes>Rename it.</changes>", "Rename it."),
        ("I read it all.\n\n<changes>\n- one\n- two\n</changes>\n\n", "- one\n- two"),
        ("<CHANGES>loud</Changes>", "loud"),
        ("<changes>\nUse this:\n```\nx = 1\n```\n</changes>", "Use this:\n```\nx = 1\n```"),
        ("<changes>\nSay:\n```\n<changes>it\n```\nso</changes>", "Say:\n```\n<changes>it\n```\nso"),
        ("<changes>first</changes>\n<changes>second</changes>", "second"),
        ("<changes>fix</changes>\n<promise>REVIEW_PASSED</promise>", "fix"),  # who wants changes is not satisfied
        ("<changes>fix</changes>\n```\nquoted\n```", "fix"),
        ("Should you find faults, end with <changes>them</changes>", None),  # not at the start of a line
        ("<changes>fix</changes>\nBut it is fine as it is.", None),  # not at the end
        ("```\n<changes>fix</changes>\n```", None),
        ("<changes>\n```\nunclosed\n</changes>", None),
        ("<changes>fix", None),
        ("fix</changes>", None),
        ("<changes> \n </changes>", None),
        ("", None),
    ],
)
def test_changes_stand_at_the_end_outside_code_fences(text: str, found: str | None) -> None:
    assert extract_changes(text) == found


LINES = st.sampled_from(
    ["<changes>", "</changes>", "<changes>x</changes>", "<promise>P</promise>", "```", "~~~", "word", "", "  "]
)


@given(st.lists(LINES, max_size=8).map("\n".join))
def test_no_text_is_too_strange(text: str) -> None:
    found = extract_changes(text)
    assert found is None or (found == found.strip() and found in text)


@given(st.lists(LINES, max_size=8).map("\n".join))
def test_what_is_quoted_says_nothing(text: str) -> None:
    quoted = f"````\n{text}\n````"
    assert extract_changes(quoted) is None
    assert extract_promise(quoted) is None


@given(st.text())
def test_marking_loses_no_line(text: str) -> None:
    assert [line for line, _ in classify_fenced_lines(text)] == text.splitlines()
