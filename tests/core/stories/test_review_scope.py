"""What a review may leave changed."""

import pytest

from ralph.core.stories.review_scope import is_review_file, is_tool_output


@pytest.mark.parametrize(
    ("path", "may"),
    [
        ("loop/tasks.json", True),
        ("loop/progress.txt", True),
        ("loop/prompt.md", False),
        ("tasks.json", False),
        ("other/tasks.json", False),
        ("loop/deep/tasks.json", False),
        ("loop/calc.py", False),
        (".ralph-active", True),
        ("loop/.ralph-active", True),
    ],
)
def test_a_review_may_write_the_list_and_the_progress_of_its_loop(path: str, may: bool) -> None:
    assert is_review_file(path, "loop") is may


@pytest.mark.parametrize(
    ("path", "is_output"),
    [
        ("src/__pycache__/calc.cpython-311.pyc", True),
        (".pytest_cache/v/cache/lastfailed", True),
        ("target/debug/app", True),
        ("build.log", True),
        ("calc.pyc", True),
        (".coverage", True),
        (".coverage.host.1", True),
        ("reports/junit.xml", True),
        ("src/calc.py", False),
        ("target", False),  # a file of that name
        ("tests/test_calc.py", False),
        ("conftest.py", False),
    ],
)
def test_what_a_test_run_leaves_behind_is_no_edit(path: str, is_output: bool) -> None:
    assert is_tool_output(path) is is_output
