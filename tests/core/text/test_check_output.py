"""What a check printed, in one line."""

import pytest

from ralph.core.text.check_output import find_why_it_cannot_run, summarize_output, take_last_lines

PYTEST = "....F\n=== FAILURES ===\nE  assert 1 == 2\n=== short test summary info ===\nFAILED t.py::x\n"


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (PYTEST + "=== 1 failed, 12 passed in 0.40s ===", "1 failed, 12 passed"),
        ("............\n12 passed in 0.40s\n", "12 passed"),
        ("\x1b[32m12 passed\x1b[0m in 0.40s\n", "12 passed"),
        (
            "FAIL: x\nRan 3 tests in 0.001s\n\nFAILED (failures=1)\nmake: *** [Makefile:2: test] Error 1\n",
            "FAILED (failures=1)",
        ),
        ("Ran 3 tests in 0.001s\n\nOK\n", "3 passed"),
        ("Tests:       1 failed, 2 passed, 3 total\nTime: 1s\n", "1 failed, 2 passed, 3 total"),
        ("test result: FAILED. 1 passed; 1 failed; 0 ignored\n", "1 passed; 1 failed"),
        ("  5 passing (3ms)\n  1 failing\n", "1 failing"),
        ("--- FAIL: TestAdd (0.00s)\nFAIL\nexit status 1\n", "--- FAIL: TestAdd"),
        ("a.py:1:1: F401 unused\nFound 3 errors.\n", "Found 3 errors."),
        ("error[E0425]: cannot find value `x`\n --> src/main.rs\n", "error[E0425]: cannot find value `x`"),
        ("something went wrong\nmake: *** [Makefile:2: test] Error 1\n", "something went wrong"),
        ("", ""),
    ],
)
def test_the_line_that_tells_most(output: str, line: str) -> None:
    assert summarize_output(output) == line


@pytest.mark.parametrize(
    ("code", "output", "why"),
    [
        (1, "/usr/bin/python3: No module named ruff\n", "No module named ruff"),
        (127, "sh: 1: just: not found\n", "just: not found"),
        (2, "make: *** No rule to make target 'test'.  Stop.\n", "No rule to make target 'test'"),
        (1, 'npm error Missing script: "lint"\n', 'Missing script: "lint"'),
        (127, "", "the program is not there"),
        (2, "make: eslint: No such file or directory\nmake: *** [x] Error 127\n", "eslint: No such file or directory"),
        (0, "No module named ruff\n", ""),
        (1, "Traceback (most recent call last):\n  File 'x'\nNo module named requests\n", ""),
        (1, PYTEST + "=== 1 failed in 0.40s ===", ""),
    ],
)
def test_a_check_that_cannot_run_is_told_from_one_that_found_something(code: int, output: str, why: str) -> None:
    assert find_why_it_cannot_run(code, output) == why


def test_the_last_lines_leave_out_what_make_adds() -> None:
    output = "one\n\n two  \nthree\x1b[31m!\x1b[0m\nmake: *** [Makefile:2: test] Error 1\n\n"
    assert take_last_lines(output, 2) == " two\nthree!"
    assert take_last_lines("make: *** [Makefile:2: test] Error 1\n") == "make: *** [Makefile:2: test] Error 1"
    assert take_last_lines("") == ""
