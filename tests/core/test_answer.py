"""An agent's final answer, made ready for reading."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.answer import CUT_MARK, MAX_KEPT_RESPONSE_CHARS, shorten_answer, unwrap_claim
from ralph.core.claims import extract_promise, extract_response
from ralph.core.outcome import classify_run
from ralph.model.command import CommandExit
from ralph.model.ports import ParsedRun

P, R = "<promise>X</promise>", "<response>DONE</response>"
DIFF = "```diff\n+ print('<promise>X</promise>')\n+<promise>X</promise>\n```"


def read(text: str) -> str:
    """The final text as the loop gets it."""
    return classify_run(ParsedRun(closing="success", text=text), CommandExit(code=0, seconds=1.0), "").text


@pytest.mark.parametrize(
    "text",
    [
        f"All tests pass.\n\n**{P}**",
        f"All tests pass.\n\n__{P}__\n",
        f"Done.\n*{P}*",
        f"Done.\n`{P}`",
        f"Done.\n``{P}``  ",
        f"Done.\n**`{P}`**\n\n",
        f"Done.\n  ** {P} **",
        f"All is done:\n```\n{P}\n```",
        f"All is done:\n\n```\n\n{P}\n\n```\n\n",
        f"```python\nx = 1\n```\nIt works.\n```\n{P}\n```",
        f"- built\n- tested\n\n> the tests say 12 passed\n\n**{P}**",
        f"1. ran it:\n   ```\n   12 passed\n   ```\n\n{P}",
        f"> ```\n> a quoted fence that is never closed\n\n{P}",
        f"The check:\n- ```sh\n  make test\n  ```\n{P}",
        f"In one line: ```make test``` passes.\n{P}",
        f"~~~\n```\n~~~\n{P}",
        f"\r\nDone.\r\n**{P}**\r\n",
        f"{P}\n```\n12 passed\n```",  # what follows is only quoted
    ],
)
def test_a_promise_alone_on_the_last_line_counts_however_it_is_marked_up(text: str) -> None:  # C1
    assert extract_promise(read(text)) == "X"


@pytest.mark.parametrize(
    "text",
    [
        f"I will end with **{P}** when the tests pass.",
        f"**Not done: {P}**",
        f"I cannot write {P} yet.",
        f"Do not read this as **{P}**.",
        f"**{P}**\nOne test is still red.",
        f"`{P}`\n\nThat is what I would say if it were done.",
        f"- {P}",
        f"> **{P}**",
        f"> ```\n> {P}\n> ```",
        f"- ```\n  {P}\n  ```",
        DIFF,
        f"The fix:\n{DIFF}\nNot tested yet.",
        f"```xml\n{P}\n```",  # a fence of another kind than the prompt's
        f"````\n{P}\n````",
        f"~~~\n{P}\n~~~",
        f"```\nThen print:\n{P}\n```",  # other content in it
        f"```\n{P}\n{P}\n```",
        f"```\n{P}",  # never closed
        f"Soon I write:\n```\n{P}\nas soon as the tests pass.",
        f"```\ncode\n\n**{P}**",
        f"```\n{P}\n```\nStill at it.",
        f"  ```\n  make test\n\n**{P}**",
        f"> ```\n> **{P}**",
        f"{P} and {P}",
        f"**{P}** ✓",
        f"*{P}?",
        f"¬{P}*",
        f"**{P}**\n\n```",
        f"# {P}",
        f"<!-- {P} -->",
        "**<promise>X</response>**",
    ],
)
def test_a_promise_that_is_quoted_negated_or_not_last_does_not_count(text: str) -> None:  # C1
    assert extract_promise(read(text)) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"**{R}**", "DONE"),
        (f"It works.\n```\n{R}\n```", "DONE"),
        (f"```\n{R}\n```\n", "DONE"),
        (f"```json\n{R}\n```", None),
        (f"The prompt says:\n```\n{R}\n```\nI am not there yet.", None),
        (f"> ```\n> {R}\n> ```", None),
        (f"- ```\n  {R}\n  ```\n", None),
        (f"Say `{R}`", "DONE"),  # 001-18: the first tag, anywhere in the text
    ],
)
def test_a_response_in_the_prompts_own_fence_counts_at_the_end(text: str, found: str | None) -> None:  # 001-18
    assert extract_response(read(text)) == found


def test_a_subagents_promise_is_no_part_of_the_answer() -> None:
    from ralph.agents._parsing.stream_json import StreamJsonParser

    parser = StreamJsonParser()
    parser.feed(
        b'{"type":"assistant","parent_tool_use_id":"t1","message":{"id":"m1","content":'
        b'[{"type":"text","text":"**<promise>X</promise>**"}]}}\n'
        b'{"type":"result","subtype":"success","is_error":false,"result":"The helper says it is done."}\n'
    )
    assert extract_promise(read(parser.summarize_run().text)) is None


@given(st.text(max_size=200))
def test_a_text_without_a_claim_at_its_end_stays_as_it_is(text: str) -> None:
    assert unwrap_claim(text) == text
    assert shorten_answer(text, 1 << 18) == text


LINES = st.sampled_from(["```", "~~~", "> ```", "> x", "- ```", P, R, f"**{P}**", "word", "", "  "])


@given(st.lists(LINES, max_size=12).map("\n".join))
def test_unwrapping_twice_is_unwrapping_once(text: str) -> None:
    assert unwrap_claim(unwrap_claim(text)) == unwrap_claim(text)


# -- long answers ----------------------------------------------------------------------------------
FILLER = "all work and no play\n" * 20_000


@pytest.mark.parametrize(
    "text",
    [
        f"{FILLER}{R}\n{FILLER}{P}",  # in the middle, which is cut
        f"```\n{FILLER}```\n{P}",  # the fence is closed in what is cut
        f"{FILLER}```\n{FILLER}\n{P}\n```\nno",  # it is opened there
        f"{FILLER}```\n{R}\n```\n{FILLER}",
        f"> ```\n> {FILLER}\n{P}",
        f"```\n{FILLER}{R}\n{FILLER}",
        "x" * 600_000 + f" {P}",  # half of a line is no line
        f"{FILLER}{R}{FILLER}<response>NO</response>",
    ],
)
def test_a_long_answer_is_cut_and_claims_what_it_claimed(text: str) -> None:
    kept = shorten_answer(text, 1 << 18)
    assert len(kept.encode()) <= 1 << 18
    assert CUT_MARK in kept
    assert (extract_promise(kept), extract_response(kept)) == (extract_promise(text), extract_response(text))


@pytest.mark.parametrize(("line_begins", "claim"), [("never ", None), ("never\n", "X")])
def test_a_line_that_is_cut_in_two_claims_no_more_than_the_whole(line_begins: str, claim: str | None) -> None:
    limit, begin, close = 1 << 18, f"{P}\n```\n", "\n```"
    kept_at_end = limit // 2 - 2 * MAX_KEPT_RESPONSE_CHARS
    text = f"{FILLER}{line_begins}{begin}{'x' * (kept_at_end - len(begin) - len(close))}{close}"
    kept = shorten_answer(text, limit)
    assert f"{CUT_MARK}{line_begins[-1]}{P}" in kept
    assert extract_promise(kept) == claim


def test_a_response_as_long_as_the_answer_is_not_kept_whole() -> None:
    kept = shorten_answer(f"{FILLER}<response>{'x' * 300_000}</response>{FILLER}", 1 << 18)
    assert len(kept.encode()) <= 1 << 18


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", ["<response>", "<promise>", "`", "```\n", "> ", "* ", "**"])
def test_a_hostile_answer_costs_no_more_than_its_length(unit: str) -> None:
    read(unit * ((1 << 20) // len(unit)) + f" x`\n{P}")
