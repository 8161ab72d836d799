"""Lines with colours, broken between words."""

from io import BytesIO, TextIOWrapper

from hypothesis import given
from hypothesis import strategies as st

from ralph.faces.cli.terminal.wrapping import fit_page, wrap_painted


def test_a_long_line_is_broken_between_words() -> None:
    assert wrap_painted("Completed: the agent is done · 3 iterations", 20) == (
        "Completed: the agent\n  is done · 3\n  iterations"
    )


def test_colours_take_no_room_and_are_not_torn() -> None:
    line = "\x1b[32m✓\x1b[0m \x1b[1mCompleted\x1b[0m: all good"
    assert wrap_painted(line, 21) == line
    assert wrap_painted(line, 15) == "\x1b[32m✓\x1b[0m \x1b[1mCompleted\x1b[0m:\n  all good"


def test_columns_of_short_lines_stay_as_they_are() -> None:
    assert wrap_painted("#  agent     time\n1  finished  0s", 20) == "#  agent     time\n1  finished  0s"


def test_a_word_that_is_too_long_stays_whole() -> None:
    assert wrap_painted("see /a/very/long/path/to/a/log now", 10) == "see\n  /a/very/long/path/to/a/log\n  now"


def test_what_hangs_on_a_branch_stays_below_it() -> None:
    assert wrap_painted("\x1b[2m  └ `make test`: it exited with 1", 20) == (
        "\x1b[2m  └ `make test`: it\n    exited with 1"
    )


def test_a_page_for_a_stream_without_signs_has_none() -> None:
    stream = TextIOWrapper(BytesIO(), encoding="ascii")
    assert fit_page("✓ run · 5/10 … → ralph show", stream) == "+ run - 5/10 ... -> ralph show"
    assert fit_page("✓ run", TextIOWrapper(BytesIO(), encoding="utf-8")) == "✓ run"


@given(text=st.text("ab 漢\n", max_size=80), width=st.integers(4, 30))
def test_no_word_is_lost(text: str, width: int) -> None:
    assert wrap_painted(text, width).split() == text.split()
