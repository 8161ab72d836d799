"""Which files a pattern means."""

import pytest

from ralph.core.proofs.file_patterns import is_named, matches_any


@pytest.mark.parametrize(
    ("path", "pattern", "matches"),
    [
        ("a/b.py", "*.py", True),
        ("a/b.py", "/*.py", False),
        ("b.py", "/*.py", True),
        ("tests/x/y.py", "tests", True),
        ("tests/x/y.py", "tests/", True),
        ("tests/x/y.py", "tests/**", True),
        ("tests/x/y.py", "tests/*.py", False),
        ("tests/x/y.py", "tests/**/*.py", True),
        ("tests/y.py", "tests/**/*.py", True),
        ("latest.py", "test.py", False),
        ("a/gradle/wrapper/x", "gradle/wrapper/*", False),
        ("a.b", "a?b", True),
        ("conf/a/b.env", "conf/**", True),
        ("other/a.env", "conf/**", False),
    ],
)
def test_patterns_are_those_of_gitignore(path: str, pattern: str, matches: bool) -> None:
    assert matches_any(path, (pattern,)) is matches


def test_a_name_is_a_path_or_a_pattern_of_shells() -> None:
    assert is_named("src/a.py", ("b.py", "src/a.py"))
    assert is_named("src/a.py", ("src/*.py",))
    assert not is_named("src/a.py", ("a.py", "src/?.py"))
