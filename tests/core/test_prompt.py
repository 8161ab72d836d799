"""How a prompt is put together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.prompt import (
    add_completion_line,
    add_feedback,
    compose_prompt,
    find_completion_line,
    render_iteration_line,
    truncate_text,
)
from ralph.model.loop import Brief, FailAction, Feedback


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("APPEND", "base prompt\n\nerror output"),
        ("PREPEND", "error output\n\nbase prompt"),
        ("REPLACE", "error output"),
    ],
)
def test_each_fail_action_puts_the_failure_where_it_says(action: FailAction, expected: str) -> None:  # 001-17
    assert add_feedback("base prompt", [Feedback("error output", action)]) == expected


def test_several_failures_keep_their_order_and_none_is_lost() -> None:  # 001-17
    feedback = [
        Feedback("a1"),
        Feedback("r1", "REPLACE"),
        Feedback("p1", "PREPEND"),
        Feedback("a2"),
        Feedback("r2", "REPLACE"),
    ]
    assert add_feedback("base", feedback) == "p1\n\nr1\n\nr2\n\na1\n\na2"


def test_the_iteration_line_comes_first_when_enabled() -> None:  # 001-17
    brief = Brief(iteration=3, limit=10, feedback=(Feedback("why"),))
    assert compose_prompt("do it", brief, count_iterations=True) == "Iteration 3 of 10, 7 remaining.\n\ndo it\n\nwhy"
    assert compose_prompt("do it", brief, count_iterations=False) == "do it\n\nwhy"


def test_the_last_iteration_has_none_remaining() -> None:  # 001-17
    assert render_iteration_line(10, 10) == "Iteration 10 of 10, 0 remaining."


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("this is a longer output that needs to be truncated", 20, "this is a longer out... [truncated]"),
        ("exact", 5, "exact"),
        ("short", 100, "short"),
        ("anything", 0, "anything"),
        ("anything", -1, "anything"),
    ],
)
def test_only_what_is_too_long_is_cut_and_marked(text: str, limit: int, expected: str) -> None:  # 001-20
    assert truncate_text(text, limit) == expected


@given(st.text(), st.lists(st.tuples(st.text(), st.sampled_from(["APPEND", "PREPEND", "REPLACE"]))))
def test_every_failure_is_in_the_prompt_verbatim(base: str, items: list[tuple[str, FailAction]]) -> None:
    prompt = add_feedback(base, [Feedback(text, action) for text, action in items])
    assert all(text in prompt for text, _ in items)
    assert base in prompt or any(action == "REPLACE" for _, action in items)


# -- how to claim completion -----------------------------------------------------------------------
PROMISE_LINE = "When everything is done, end your answer with <promise>OK</promise>, alone on the last line."


@pytest.mark.parametrize(
    ("signals", "line"),
    [
        (("response",), "When everything is done, end your answer with <response>OK</response>."),
        (("promise",), PROMISE_LINE),
        (("file:out/OK",), "When everything is done, create the file out/OK."),
        (("promise", "response"), PROMISE_LINE),
    ],
)
def test_a_prompt_without_the_signal_is_told_it(signals: tuple[str, ...], line: str) -> None:  # C26
    assert find_completion_line("Fix the tests", signals, "OK") == line


@pytest.mark.parametrize(
    ("prompt", "signals", "is_named"),
    [
        ("Then answer <response>OK</response>.", ("response",), True),
        ("Then answer <RESPONSE> ok </RESPONSE>.", ("response",), True),
        ("Then answer <response>OK</response>.", ("promise", "response"), True),
        ("Then answer <response>OK</response>.", ("promise",), False),
        ("Then answer <response>NO</response>.", ("response",), False),
        ("Answer OK in a response tag.", ("response",), False),
        ("Create out/OK when done", ("file:out/OK",), True),
        ("Create `out/OK`.", ("file:out/OK",), True),
        ("Read out/OKAY and old/out/OK", ("file:out/OK",), False),
    ],
)
def test_a_prompt_that_names_a_signal_is_told_nothing(
    prompt: str, signals: tuple[str, ...], is_named: bool
) -> None:  # C26
    assert (find_completion_line(prompt, signals, "OK") == "") is is_named


def test_a_text_with_signs_of_its_own_is_no_pattern() -> None:
    assert find_completion_line("Say <response>a+b (c)</response>", ("response",), "a+b (c)") == ""


def test_the_line_is_a_paragraph_of_its_own() -> None:
    assert add_completion_line("Fix it.\n\n", "Say so.") == "Fix it.\n\nSay so."
    assert add_completion_line("Fix it.\n", "") == "Fix it.\n"
