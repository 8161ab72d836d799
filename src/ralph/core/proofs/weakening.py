"""Whether a test file says less than it did: tests or assertions gone, skipped, narrowed to a few, ended early."""

import re
from functools import cache

from ralph.core.proofs.suite_marks import MARKS, OTHER_MARKS
from ralph.core.text.quantities import pluralize

MAX_TEST_FILE_CHARS = 2_000_000  # beyond that nobody counts; a change is a change


_STRINGS = "|".join(
    (
        r'"""(?:\\.|[^\\])*?"""',
        r"'''(?:\\.|[^\\])*?'''",
        r'"(?:\\.|[^"\\\n])*"',
        r"'(?:\\.|[^'\\\n])*'",
        r"`(?:\\.|[^`\\])*`",
    )
)
_PLAIN_STRINGS = r'"(?:\\.|[^"\\\n])*"'  # where a single quote is no string: lifetimes, characters
_PLAIN_STRING_LANGUAGES = frozenset(("rust", "c", "elixir", "gherkin"))
_KEPT_STRING_LANGUAGES = frozenset(("shell",))


def describe_weakening(language: str, old: str, new: str) -> str:
    """What the new text lacks, or has too much, in words; empty where it says as much as before."""
    if max(len(old), len(new)) > MAX_TEST_FILE_CHARS:
        return ""
    marks = MARKS.get(language, OTHER_MARKS)
    before, after = strip_comments(language, old), strip_comments(language, new)
    reasons = [
        _describe_more(_find(marks.endings, before), _find(marks.endings, after), "can end or replace the test run"),
        _describe_more(_find(marks.skips, before), _find(marks.skips, after), "marked skip"),
        _describe_more(_find(marks.focus, before), _find(marks.focus, after), "narrowed to a few tests"),
        _describe_fewer(_find(marks.tests, before), _find(marks.tests, after), "test"),
        _describe_fewer(_find(marks.assertions, before), _find(marks.assertions, after), "assertion"),
    ]
    if language == "go" and _count_build_tags(new) > _count_build_tags(old):
        reasons.append("excluded by a build tag")
    return ", ".join(filter(None, reasons))


def describe_danger(language: str, new: str) -> str:
    """What in a new test file could keep the other tests from being run; empty where there is nothing."""
    if len(new) > MAX_TEST_FILE_CHARS:
        return ""
    found = _find(MARKS[language].endings, strip_comments(language, new)) if language in MARKS else []
    return f"can end or replace the test run: `{found[0]}`" if found else ""


def count_tests(language: str, text: str) -> int:
    return len(_find(MARKS.get(language, OTHER_MARKS).tests, strip_comments(language, text)))


def asserts_nothing(language: str, text: str) -> bool:
    """Whether tests stand there that cannot fail; of a language nobody knows: no."""
    code = strip_comments(language, text)
    return (
        language in MARKS and bool(_find(MARKS[language].tests, code)) and not _find(MARKS[language].assertions, code)
    )


def strip_comments(language: str, text: str) -> str:
    """Code alone: comments gone, strings empty, lines where they were."""
    comments = MARKS.get(language, OTHER_MARKS).comments
    strings = _PLAIN_STRINGS if language in _PLAIN_STRING_LANGUAGES else _STRINGS
    return _compile(f"({comments})|({strings})").sub(
        lambda found: "\n" * found[0].count("\n") if found[1] is not None else _empty_string(language, found[0]), text
    )


def strip_comment_text(language: str, text: str) -> str:
    """Code with its strings: comments gone, lines where they were."""
    comments = MARKS.get(language, OTHER_MARKS).comments
    strings = _PLAIN_STRINGS if language in _PLAIN_STRING_LANGUAGES else _STRINGS
    return _compile(f"({comments})|({strings})").sub(
        lambda found: found[0] if found[1] is None else "\n" * found[0].count("\n"), text
    )


def _empty_string(language: str, text: str) -> str:
    if language in _KEPT_STRING_LANGUAGES:
        return text
    quote = text[:3] if text[:3] in ('"""', "'''") else text[0]
    return f"{quote}{chr(10) * text.count(chr(10))}{quote}"


def _find(pattern: str, code: str) -> list[str]:
    return [found[0].strip() for found in _compile(pattern).finditer(code)]


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE | re.DOTALL)


def _describe_more(before: list[str], after: list[str], words: str) -> str:
    new = [mark for mark in dict.fromkeys(after) if after.count(mark) > before.count(mark)]
    return f"{words}: `{new[0]}`" if new else ""


def _describe_fewer(before: list[str], after: list[str], thing: str) -> str:
    gone = len(before) - len(after)
    return f"{pluralize(gone, thing)} removed" if gone > 0 else ""


def _count_build_tags(text: str) -> int:
    return len(re.findall(r"(?m)^//\s*(?:go:build|\+build)\b", text))
