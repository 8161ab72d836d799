"""A test runner that passed says how many tests it ran."""

import pytest

from ralph.core.proofs.silent_checks import describe_silent_check, find_summing_runner

OK, FAILED = "..\n\nRan 2 tests in 0.000s\n\nOK\n", "Ran 2 tests in 0.001s\n\nFAILED (failures=1)\n"


@pytest.mark.parametrize(
    ("command", "output", "found"),
    [
        ("python3 -m unittest -q", OK, ""),
        ("python3 -m unittest -q", "", "reports no test"),
        ("python3 -m unittest -q", FAILED, "reports failures"),
        ("pytest -q", "..   [100%]\n2 passed in 0.01s\n", ""),
        ("pytest", "== 1 passed, 2 skipped in 0.01s ==\n", ""),
        ("uv run pytest", "", "reports no test"),
        (".venv/bin/pytest tests", "===== 1 failed, 3 passed in 0.12s =====\n", "reports failures"),
        ("pytest -q", "FAILED is a word\n0 failed, 3 passed in 0.12s\n", ""),
        ("pytest && ruff check .", "", ""),
        ("make test", "", ""),
        ("pytest > log", "", ""),
        ("pytest -qq", "", ""),
        ("pytest -q -q", "", ""),
        ("! pytest", FAILED, ""),
    ],
)
def test_one_that_says_nothing_is_named(command: str, output: str, found: str) -> None:
    runner = find_summing_runner([command])
    said = describe_silent_check(runner, output) if runner else ""
    assert found in said
    assert bool(found) is bool(said)


def test_a_runner_is_heard_through_make_where_nobody_keeps_it_silent() -> None:
    assert find_summing_runner(["make test", "python3 -m unittest -q"]) == "unittest"
    assert find_summing_runner(["make test", "python3 -m unittest -q > log"]) == ""
    assert find_summing_runner(["make test", "pytest", "python3 -m unittest"]) == ""
    assert find_summing_runner(["make test", "sh check.sh", ""]) == ""


@pytest.mark.parametrize(
    ("runner", "output"),
    [
        ("pytest", "== 3 skipped in 0.01s ==\n"),
        ("pytest", "no tests ran in 0.01s\n"),
        ("unittest", "Ran 2 tests in 0.000s\n\nOK (skipped=2)\n"),
        ("unittest", "Ran 0 tests in 0.000s\n\nOK\n"),
    ],
)
def test_tests_that_were_all_skipped_prove_nothing(runner: str, output: str) -> None:
    assert "no test that passed" in describe_silent_check(runner, output)


def test_a_skipped_test_is_strange_only_where_packages_came_or_went() -> None:
    some = "== 1 passed, 2 skipped in 0.01s ==\n"
    assert describe_silent_check("pytest", some) == ""
    assert "skips tests" in describe_silent_check("pytest", some, is_poorer=True)
    assert describe_silent_check("pytest", "1 passed in 0.01s\n", is_poorer=True) == ""
