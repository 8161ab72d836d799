"""A test runner that passed says how many tests it ran."""

import pytest

from ralph.core.proofs.silence import describe_silence, is_summed_up

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
    said = describe_silence(command, output)
    assert found in said
    assert bool(found) is bool(said)


def test_of_most_commands_nobody_can_tell() -> None:
    assert [command for command in ("pytest", "make test", "sh check.sh", "") if is_summed_up(command)] == ["pytest"]
