"""What an agent says, what it quotes, and what it says is not so."""

import pytest

from ralph.core.tasks.words import find_sentence, has_pattern, keep_own_words


@pytest.mark.parametrize(
    "text",
    [
        'The brief says "tests fail".',
        "The brief says “tests fail”.",
        "The brief says 'tests fail'.",
        "It printed `tests fail` once.",
        "It printed\n```\ntests fail\n```\nonce.",
        "> tests fail\n\nThat was the report.",
        "<promise>tests fail</promise>",
        "Criterion: if the tests\n  fail, exit 1. Met.",
    ],
)
def test_what_is_quoted_is_not_its_own(text: str) -> None:
    assert "tests fail" not in keep_own_words(text, ["if the tests fail, exit 1"])


def test_its_own_words_stay() -> None:
    assert "tests fail" in keep_own_words("It doesn't matter that's why tests fail, isn't it", ["other words"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a TODO is left", True),
        ("todo", True),
        ("No TODO is left.", False),
        ("no open TODO", False),
        ("without any TODO", False),
        ("0 TODO", False),
        ("No time for that. TODO: all of it", True),
        ("I did not fix the TODO", True),
        ("the list of TODO items is done", False),  # the criterion's words
    ],
)
def test_a_pattern_that_is_denied_is_not_there(text: str, found: bool) -> None:
    assert has_pattern("TODO", text, ["the list of TODO items is done"]) is found


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("It works. The tests fail here. Done.", " The tests fail here"),
        ("The tests fail", "The tests fail"),
        ("first\nthe tests fail\nlast", "the tests fail"),
        (f"{'x' * 500} tests fail now", f"{'x' * 399} tests fail now"),
    ],
)
def test_the_sentence_around_some_words_is_found(text: str, sentence: str) -> None:
    assert find_sentence(text, text.index("tests")) == sentence


def test_of_what_is_repeated_the_longest_goes_first_in_any_case() -> None:
    """Without its middle, the longer one would not be known again."""
    others = ["tests fail", "exit 1 if tests fail in CI", "zz"]
    assert keep_own_words("EXIT 1 if Tests fail in CI", others).strip() == ""
