"""Plain stdout as an answer."""

from hypothesis import given
from hypothesis import strategies as st

from ralph.agents._plain import MAX_KEPT_BYTES, PlainParser
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


@given(st.lists(st.binary(max_size=50)))
def test_a_short_answer_is_kept_as_it_is(blocks: list[bytes]) -> None:
    assert text_of(*blocks) == b"".join(blocks).decode("utf-8", "replace")


def test_of_a_flood_both_ends_survive() -> None:
    flood = [b"x" * 1_000_000] * 20
    text = text_of(b"<response>FIRST</response>\n", *flood, b"<response>LAST</response>\n")
    assert text.startswith("<response>FIRST</response>\n")
    assert text.endswith("<response>LAST</response>\n")
    assert "bytes left out" in text
    assert len(text) < 4 * MAX_KEPT_BYTES


def test_a_flood_in_one_block_is_kept_the_same_way() -> None:
    text = text_of(b"first " + b"x" * 5_000_000 + b" last")
    assert text.startswith("first ")
    assert text.endswith(" last")
    assert len(text) < 4 * MAX_KEPT_BYTES
