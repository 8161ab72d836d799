"""The lines of `opencode run --format json`."""

import json
from pathlib import Path
from typing import Any

import pytest

from ralph.agents.opencode import OpencodeParser
from ralph.model.events import AgentEvent, Finished, Noted, Planned, Said, Spent, Todo, ToolEnded, ToolStarted, Usage
from ralph.model.ports import ParsedRun

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def events_of(*events: dict[str, Any]) -> list[AgentEvent]:
    return list(OpencodeParser().feed(lines(*events)))


def heard_of(*events: dict[str, Any]) -> ParsedRun:
    parser = OpencodeParser()
    parser.feed(lines(*events))
    return parser.summarize_run()


def said(words: str, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "part": {"text": words}}


def used(tool: str, **state: object) -> dict[str, Any]:
    return {"type": "tool_use", "part": {"tool": tool, "callID": "c1", "state": {"status": "completed", **state}}}


def finish(reason: str, cost: float = 0.0) -> dict[str, Any]:
    tokens = {"input": 100, "output": 20, "cache": {"read": 3, "write": 4}}
    return {"type": "step_finish", "part": {"reason": reason, "cost": cost, "tokens": tokens}}


START = {"type": "step_start", "part": {}}


def test_a_step_that_stops_is_the_end() -> None:
    told = events_of(START, said("bye"), finish("stop", 0.5))
    usage = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=3, cache_write_tokens=4)
    assert told == [
        Said("bye"),
        Spent(0.5, usage),
        Finished(ok=True, text="bye", error="", cost_usd=0.5, usage=usage, turns=1),
    ]


def test_the_session_is_told_once() -> None:
    started = {**START, "sessionID": "ses_1"}
    assert events_of(started, finish("tool-calls"), started)[0] == Noted("session: ses_1")
    assert events_of(started, finish("tool-calls"), started).count(Noted("session: ses_1")) == 1


def test_costs_and_tokens_of_steps_add_up() -> None:
    heard = heard_of(START, finish("tool-calls", 0.1), START, said("x"), finish("stop", 0.2))
    assert heard.cost_usd == pytest.approx(0.3)
    assert heard.usage == Usage(input_tokens=200, output_tokens=40, cache_read_tokens=6, cache_write_tokens=8)


def test_a_step_below_nothing_gives_nothing_back() -> None:
    assert heard_of(START, finish("tool-calls", 0.1), START, finish("stop", -0.2)).cost_usd == pytest.approx(0.1)


@pytest.mark.parametrize(("name", "text"), [("opencode_refused", "All good."), ("opencode_rejected", "")])
def test_a_refused_command_is_named_whether_or_not_it_goes_on(name: str, text: str) -> None:  # issue 12
    parser = OpencodeParser()
    parser.feed((TRANSCRIPTS / f"{name}.ndjson").read_bytes())
    heard = parser.summarize_run()
    assert (heard.closing, heard.denials) == ("success", ("bash",))
    assert heard.refused_commands == ("python3 -c 'print(1)'",)
    assert heard.text.startswith(text)


def test_a_step_for_its_tools_is_no_end() -> None:
    assert heard_of(START, said("DONE"), finish("tool-calls")).closing == "none"


def test_a_new_step_opens_what_was_closed() -> None:
    assert heard_of(START, said("DONE"), finish("stop"), START).closing == "none"


def test_an_answer_that_is_too_long_is_cut_short() -> None:
    heard = heard_of(START, said("x"), finish("length"))
    assert (heard.closing, heard.cut_short) == ("error", True)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"output": "ok\n", "metadata": {"exit": 0}}, ToolEnded(id="c1", output="ok\n", error=None, lines=1, chars=3)),
        (
            {"output": "no\n", "metadata": {"exit": 3}},
            ToolEnded(id="c1", output="no\n", error="exit code 3: no", lines=1, chars=3),
        ),
        ({"status": "error", "error": "denied"}, ToolEnded(id="c1", output="", error="denied")),
    ],
)
def test_a_tool_is_told_when_it_is_over(state: dict[str, Any], expected: ToolEnded) -> None:
    told = events_of(used("bash", input={"command": "make", "description": "d"}, **state))
    assert told == [ToolStarted(id="c1", name="bash", summary="make"), expected]


def test_a_path_in_its_own_spelling() -> None:
    assert events_of(used("write", input={"filePath": "/a"}))[0] == ToolStarted(id="c1", name="write", summary="/a")


def test_a_todo_list_is_a_plan() -> None:
    todos = [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "cancelled"}]
    assert events_of(used("todowrite", input={"todos": todos})) == [Planned((Todo("a", "active"), Todo("b", "done")))]


def test_thinking_is_said_as_thinking() -> None:
    assert events_of(said("hm", "reasoning")) == [Said("hm", thinking=True)]


def test_words_before_the_last_tool_do_not_count() -> None:
    assert heard_of(START, said("DONE"), used("bash"), finish("stop")).text == ""


def test_an_answer_in_parts_is_one_answer() -> None:
    heard = heard_of(START, used("bash"), said("All is done."), said("<promise>X</promise>"), finish("stop"))
    assert heard.text == "All is done.\n<promise>X</promise>"


def test_an_answer_goes_on_over_steps_without_a_tool() -> None:
    assert heard_of(START, said("a"), finish("unknown"), START, said("b"), finish("stop")).text == "a\nb"


def test_a_new_answer_takes_the_place_of_one_that_was_closed() -> None:
    first = (START, said("<promise>X</promise>"), finish("stop"))
    assert heard_of(*first, START, said("not yet"), finish("stop")).text == "not yet"
    assert heard_of(*first, START, finish("stop")).text == "<promise>X</promise>"


def test_an_error_has_words_and_status() -> None:
    line = {"type": "error", "error": {"name": "APIError", "data": {"message": "slow down", "statusCode": 429}}}
    heard = heard_of(line)
    assert (heard.closing, heard.error, heard.status) == ("error", "slow down", 429)
    assert events_of({"type": "error", "error": {"name": "Odd"}}) == [Finished(ok=False, error="Odd")]


@pytest.mark.parametrize("name", sorted(p.name for p in TRANSCRIPTS.glob("opencode_*.ndjson")))
def test_nothing_recorded_is_unparsed(name: str) -> None:
    parser = OpencodeParser()
    parser.feed((TRANSCRIPTS / name).read_bytes())
    assert parser.summarize_run().unparsed == 0
