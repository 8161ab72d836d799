"""Plain stdout as an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.agents._parsing.plain import MAX_ANSWER_BYTES, PlainParser
from ralph.model.events import Said


def text_of(*blocks: bytes) -> str:
    parser = PlainParser()
    for block in blocks:
        parser.feed(block)
    return parser.summarize_run().text


def test_what_is_printed_is_said() -> None:
    assert PlainParser().feed(b"one\ntwo\n") == (Said("one\ntwo"),)


def test_blank_output_says_nothing() -> None:
    assert PlainParser().feed(b"\n  \n") == ()


def test_success_is_left_to_the_exit_code() -> None:
    assert PlainParser().summarize_run().closing == "unknown"


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert text_of(b"a\xffb\n") == "a\ufffdb\n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=50).map(str.encode)))
def test_an_answer_is_kept_as_it_is(blocks: list[bytes]) -> None:
    assert text_of(*blocks) == b"".join(blocks).decode()


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (b"\x1b[1;32m<promise>X</promise>\x1b[0m\n", "<promise>X</promise>\n"),
        (b"\x1b]0;my agent\x07<promise>X</promise>\n", "<promise>X</promise>\n"),
        (b"\x1b]8;;https://x.example\x1b\\<promise>X</promise>\x1b]8;;\x1b\\", "<promise>X</promise>"),
        (b"working\r\x1b[2K\x1b[?25h<promise>X</promise>\n", "working\r<promise>X</promise>\n"),
        ("\u009b31m<promise>X</promise>\u009bm".encode(), "<promise>X</promise>"),
        (b"\x1b[31mred\x1b[0m \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", "red \U0001f469\u200d\U0001f4bb"),
    ],
)
def test_what_only_a_terminal_understands_is_no_part_of_the_answer(printed: bytes, text: str) -> None:
    assert text_of(printed) == text


def test_any_bytes_give_text() -> None:
    assert text_of(bytes(range(256)) * 3)


def test_a_long_answer_is_read_whole() -> None:
    block = b"y" * (1 << 20)
    text = text_of(*[block] * 8, b"\n<response>DONE</response>\n", *[block] * 7)
    assert "\n<response>DONE</response>\n" in text
    assert "left out" not in text


def test_of_a_flood_both_ends_survive() -> None:
    flood = [b"x" * 1_000_000] * 60
    text = text_of(b"<response>FIRST</response>\n", *flood, b"<response>LAST</response>\n")
    assert text.startswith("<response>FIRST</response>\n")
    assert text.endswith("<response>LAST</response>\n")
    assert "bytes left out" in text
    assert len(text) < MAX_ANSWER_BYTES + 100


def test_a_flood_in_one_block_is_kept_the_same_way() -> None:
    text = text_of(b"first " + b"x" * 50_000_000 + b" last")
    assert text.startswith("first ")
    assert text.endswith(" last")
    assert len(text) < MAX_ANSWER_BYTES + 100
