"""What is told of a tool's output."""

import pytest

from ralph.agents._parsing.tools import MAX_TOOL_TEXT_CHARS, build_tool_ended

DOTS = ".................\n" * 200


@pytest.mark.parametrize(
    "end",
    [
        "===== 1 failed, 12 passed in 0.31s =====\n",
        "Ran 3 tests in 0.001s\n\nOK\n",
        "test result: FAILED. 1 passed; 1 failed; 0 ignored\n",
        "Tests:       1 failed, 3 passed, 4 total\nTime: 1 s\n",
        "make: *** [Makefile:2: test] Error 1\n",
        "FAIL\tgithub.com/x/y\t0.01s\n",
        "npm ERR! Test failed.\n",
    ],
)
def test_of_tests_and_builds_the_end_is_kept(end: str) -> None:
    ended = build_tool_ended("1", DOTS + end)
    assert ended.from_end
    assert ended.output.endswith(end)
    assert len(ended.output) == MAX_TOOL_TEXT_CHARS
    failed = build_tool_ended("1", DOTS + end, error=f"exit code 1: {DOTS}{end}")
    assert failed.error is not None
    assert failed.error.endswith(end)


@pytest.mark.parametrize("text", [DOTS, "def test():\n" * 300, "ok\n", "1 passed\n"])
def test_of_all_else_the_beginning(text: str) -> None:
    ended = build_tool_ended("1", text)
    assert not ended.from_end
    assert ended.output == text[:MAX_TOOL_TEXT_CHARS]
