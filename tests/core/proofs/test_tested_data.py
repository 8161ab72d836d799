"""Files that hold what tests expect."""

import pytest

from ralph.core.proofs.runners import RUNNERS
from ralph.core.proofs.tested_data import find_named_files, may_be_tested_data


@pytest.mark.parametrize(
    ("path", "may"),
    [
        ("data/rows.json", True),
        ("expected.golden", True),
        ("a/b.CSV", True),
        ("calc.py", False),
        ("picture.png", False),
        ("package.json", False),
        ("web/package-lock.json", False),
        ("pyproject.toml", False),
        (".eslintrc.json", False),
        ("README.txt", False),
        ("src/page.html", True),
    ],
)
def test_values_may_be_expected_and_code_or_settings_are_none(path: str, may: bool) -> None:
    assert may_be_tested_data(path) is may


def test_names_in_quotes_are_read() -> None:
    assert find_named_files(["open('rows.json')", 'load("data/sums.csv")', "plain.txt"]) == {"rows.json", "sums.csv"}


def test_runners_run_tests_of_languages_and_are_configured_by_files() -> None:
    for name, runner in RUNNERS.items():
        assert all("." not in language and "/" not in language for language in runner.languages), name
        assert not {"python", "java", "javascript"} & {*runner.files}, name
