"""The words and names of a guardrail."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.guardrail import (
    MAX_REASON_CHARS,
    build_gate_result,
    format_log_name,
    render_failure,
    slugify_command,
    slugify_commands,
)
from ralph.model.loop import Feedback, GateResult
from ralph.model.ports import GateOptions


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("./mvnw clean install -T 2C", "mvnw_clean_install_T_2C"),
        ("make test", "make_test"),
        ("npm run test:unit", "npm_run_test_unit"),
        (
            "this_is_a_very_long_command_that_should_be_truncated_because_it_has_many_chars",
            "this_is_a_very_long_command_that_should_be_truncat",
        ),
        ("!!!", "guardrail"),
    ],
)
def test_a_slug_is_a_file_name_of_the_command(command: str, expected: str) -> None:  # 001-22
    assert slugify_command(command) == expected


def test_guardrails_of_the_same_name_get_numbers() -> None:  # 001-22
    assert slugify_commands(["make test", "make  test", "make test", "lint"]) == (
        "make_test",
        "make_test_1",
        "make_test_2",
        "lint",
    )


@given(st.lists(st.text()))
def test_slugs_are_unique_and_safe(commands: list[str]) -> None:
    names = slugify_commands(commands)
    assert len(set(names)) == len(commands)
    assert all(name and "/" not in name and name.isascii() for name in names)


def test_a_log_is_named_by_iteration_and_slug() -> None:  # 001-19, 001-22
    assert format_log_name(1, "make_test") == "guardrail_001_make_test.log"


def test_a_failure_tells_command_code_hint_log_and_output() -> None:  # 001-21
    text = render_failure(
        "make lint",
        2,
        hint="Fix lint errors only.",
        log=".ralph/guardrail_001_make_lint.log",
        output="E501",
        limit=5000,
    )
    assert text == (
        'Guardrail "make lint" failed with exit code 2.\n'
        "Hint: Fix lint errors only.\n"
        "Output file: .ralph/guardrail_001_make_lint.log\n"
        "Output (truncated):\n"
        "E501"
    )


def test_without_a_hint_there_is_no_hint_line() -> None:  # 001-21
    assert "Hint:" not in render_failure("x", 1, hint="", log="log", output="out", limit=10)


def test_without_a_log_there_is_no_line_for_it() -> None:
    assert (
        render_failure("x", 1, hint="", log="", output="out", limit=10)
        == 'Guardrail "x" failed with exit code 1.\nOutput (truncated):\nout'
    )


def test_a_hint_is_literal_and_never_cut() -> None:  # 001-20
    hint = "{output} %s " + "h" * 200
    text = render_failure("x", 1, hint=hint, log="log", output="o" * 100, limit=10)
    assert f"Hint: {hint}\n" in text
    assert text.endswith("Output (truncated):\noooooooooo... [truncated]")


def test_a_check_without_a_problem_passes() -> None:
    assert build_gate_result("licence", [], GateOptions(hint="x")) == GateResult(gate="licence", passed=True)


def test_a_check_with_problems_fails_with_all_of_them_and_feedback() -> None:
    options = GateOptions(hint="Add it.", action="PREPEND", output_limit=8)
    assert build_gate_result("licence", ["a.py has none", "b.py has none"], options) == GateResult(
        gate="licence",
        passed=False,
        exit_code=1,
        reason="a.py has none; b.py has none",
        feedback=Feedback(
            'Guardrail "licence" failed with exit code 1.\nHint: Add it.\nOutput (truncated):\na.py has... [truncated]',
            "PREPEND",
        ),
    )


def test_a_reason_has_an_end() -> None:
    assert len(build_gate_result("x", ["y" * 999], GateOptions()).reason) == MAX_REASON_CHARS
