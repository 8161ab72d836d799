"""The commit message in an agent's answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.commit_message import parse_commit_message


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("\n\nUpdate dependencies\nMore", "Update dependencies"),
        ("x\n<response> Fix it </response>", "Fix it"),
        ("```\n<response>Fix it</response>\n```\nThere.", "Fix it"),
        ("```\nFix the numerals\n```", "Fix the numerals"),
        ("```text\n\nFix the numerals\n\nAnd more.\n```", "Fix the numerals"),
        ("Here is the commit message:\n\n```\nFix the numerals\n```\n", "Fix the numerals"),
        ("Sure! Here's a commit message:\nFix the numerals", "Fix the numerals"),
        ("Fix the numerals\n\n```\nroman(4) == 'IV'\n```", "Fix the numerals"),
        ('"Fix the numerals"', "Fix the numerals"),
        ("`Fix the numerals`", "Fix the numerals"),
        ("**Fix the numerals**", "Fix the numerals"),
        ("Commit message: Fix the numerals", "Fix the numerals"),
        ("**Commit message:** `Fix the numerals`", "Fix the numerals"),
        ("**Commit message: Fix the numerals**", "Fix the numerals"),
        ("“Fix the numerals”", "Fix the numerals"),
        ('Say "yes" and "no"', 'Say "yes" and "no"'),
        ('"yes" is not "no"', '"yes" is not "no"'),
        ("Handle `None` in `roman`", "Handle `None` in `roman`"),
        ("fix(api): message: keep order", "fix(api): message: keep order"),
        ("Fix two things:\n- one\n- two", "Fix two things:"),
        (" \n```\n\n```\n", ""),
        ("", ""),
    ],
)
def test_the_message_is_taken_out_of_its_wrapping(answer: str, message: str) -> None:  # 001-23
    assert parse_commit_message(answer) == message


@given(st.text(alphabet="`*_\"' :\nmessage<response>", max_size=40))
def test_no_answer_is_too_strange(answer: str) -> None:
    assert not parse_commit_message(answer).startswith("```")
