"""Streaks and fingerprints: what counts as the same again."""

import pytest

from ralph.core.progress import Streak, fingerprint_failure


def counted(*signs: str) -> int:
    streak = Streak()
    for sign in signs:
        streak = streak.extend(sign)
    return streak.times


def test_the_same_in_a_row_counts_up() -> None:
    assert counted() == 0
    assert counted("a") == 1
    assert counted("a", "a", "a") == 3


def test_another_begins_anew() -> None:
    assert counted("a", "a", "b") == 1
    assert counted("a", "b", "a") == 1


def test_an_empty_sign_is_never_the_same() -> None:
    assert counted("", "", "") == 1
    assert counted("a", "", "a") == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 tests failed in 1.24s", "4 tests failed in 0.97s"),
        ("panic at 0x7ffe12ab", "panic at 0x01234567"),
        ("commit 1f3c9a7b2e is bad", "commit 00aa11bb22 is bad"),
        ("Command  failed\n", "command failed"),
    ],
)
def test_what_varies_from_run_to_run_does_not_make_another_failure(one: str, other: str) -> None:
    assert fingerprint_failure(one) == fingerprint_failure(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("test_a failed", "test_b failed"), ("", "x"), ("Command exited with 1", "Command timed out after 1s")],
)
def test_other_words_do(one: str, other: str) -> None:
    assert fingerprint_failure(one) != fingerprint_failure(other)
