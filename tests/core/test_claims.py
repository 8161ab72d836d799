"""What counts as a claim of completion."""

import pytest

from ralph.core.claims import (
    extract_promise,
    extract_promise_loosely,
    extract_response,
    find_completion_signal,
    has_misplaced_promise,
)
from ralph.model.loop import Reported


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<response>  DONE  </response>", "DONE"),  # 001-18
        ("<RESPONSE>done</RESPONSE>", "done"),
        ("<response>FIRST</response> <response>SECOND</response>", "FIRST"),
        ("<response></response>", ""),
        ("<response>one\ntwo</response>", "one\ntwo"),
        ("Task completed.\n\n<response>DONE</response>\n", "DONE"),
        ("DONE", None),  # C5: a bare word is no claim
        ("I am not DONE", None),
        ("<response>DONE", None),
        ("```\n<response>DONE</response>\n```", None),  # C4: code fences are ignored
        ("~~~text\n<response>DONE</response>\n~~~", None),
        ("```\nunclosed\n<response>DONE</response>", None),
        ("```\ncode\n```\n<response>DONE</response>", "DONE"),
        ("````\n```\n<response>DONE</response>\n````\nno", None),  # a shorter fence does not close a longer one
        ("", None),
    ],
)
def test_the_first_response_tag_outside_code_fences_counts(text: str, found: str | None) -> None:  # 001-18
    assert extract_response(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("All tests pass.\n<promise>COMPLETE</promise>", "COMPLETE"),
        ("<promise>COMPLETE</promise>\n\n  \n", "COMPLETE"),
        ("<PROMISE>Done</PROMISE>", "Done"),
        ("  <promise> X </promise>  ", "X"),
        ("All done. <promise>COMPLETE</promise>", None),  # not alone on its line
        ("<promise>COMPLETE</promise>\nStill need to fix one test.", None),  # not the last line
        ("I will say <promise>COMPLETE</promise> when done", None),
        ("```\n<promise>COMPLETE</promise>\n```", None),
        ("<promise>COMPLETE</promise>\n```\ncode\n```", "COMPLETE"),
        ("> <promise>COMPLETE</promise>", None),
        ("`<promise>COMPLETE</promise>`", None),
        ("COMPLETE", None),
    ],
)
def test_a_promise_stands_alone_on_the_last_line(text: str, found: str | None) -> None:  # C1, 000-14
    assert extract_promise(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<promise>\n X \n</promise>", "X"),
        ("so: <PROMISE>Done</PROMISE> ok", "Done"),
        ("<promise>X</promise>", "X"),
        ("<promise></promise>X</promise>", "</promise>X"),  # nothing is no promise
        ("nothing", None),
    ],
)
def test_the_loose_rule_takes_the_first_promise_anywhere(text: str, found: str | None) -> None:  # 002-19
    assert extract_promise_loosely(text) == found


@pytest.mark.parametrize(
    ("text", "misplaced"),
    [
        ("I say <promise>X</promise> here.", True),
        ("<promise>X</promise>\nand more", True),
        ("<promise>X</promise>", False),
        ("nothing", False),
    ],
)
def test_a_promise_in_the_wrong_place_is_seen(text: str, misplaced: bool) -> None:
    assert has_misplaced_promise(text, ("X",)) is misplaced
    assert not has_misplaced_promise(text, ("OTHER",))


@pytest.mark.parametrize(
    ("signals", "reported", "which"),
    [
        (("response",), Reported(outcome="finished", text="<response>done</response>"), "<response>DONE</response>"),
        (("response",), Reported(outcome="finished", text="<response>NOT DONE</response>"), ""),
        (("response",), Reported(outcome="finished", text="<promise>DONE</promise>"), ""),
        (("promise",), Reported(outcome="finished", text="<response>DONE</response>"), ""),
        (("promise",), Reported(outcome="finished", text="", present=("se",)), ""),  # only a file: names a file
        (("promise",), Reported(outcome="finished", text="<promise>DONE</promise>"), "<promise>DONE</promise>"),
        (("promise",), Reported(outcome="finished", text="<promise>done</promise>"), ""),  # its text is case-sensitive
        (("file:DONE",), Reported(outcome="finished", text="", present=("DONE",)), "file DONE"),
        (("file:DONE",), Reported(outcome="finished", text=""), ""),
        (
            ("promise", "response"),
            Reported(outcome="finished", text="<response>DONE</response>"),
            "<response>DONE</response>",
        ),
        (("response",), Reported(outcome="crashed", text="<response>DONE</response>"), ""),
        (("response",), Reported(outcome="refused", text="<response>DONE</response>"), ""),
        (("response",), Reported(outcome="timed_out", text="<response>DONE</response>"), ""),
    ],
)
def test_any_configured_signal_counts_and_says_which_it_was(
    signals: tuple[str, ...], reported: Reported, which: str
) -> None:  # C4
    assert find_completion_signal(signals, "DONE", reported) == which
