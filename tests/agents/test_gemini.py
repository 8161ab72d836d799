"""The lines of Gemini's stream-json."""

import json
from pathlib import Path
from typing import Any

import pytest

from ralph.agents.gemini import GeminiParser
from ralph.model.events import (
    AgentEvent,
    Finished,
    Noted,
    Planned,
    Said,
    Spent,
    Todo,
    ToolEnded,
    ToolStarted,
    Usage,
)
from ralph.model.ports import ParsedRun

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def events_of(*events: dict[str, Any]) -> list[AgentEvent]:
    return list(GeminiParser().feed(lines(*events)))


def heard_of(*events: dict[str, Any]) -> ParsedRun:
    parser = GeminiParser()
    parser.feed(lines(*events))
    return parser.summarize_run()


def piece(words: str, **more: object) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": words, **more}


def use(name: str, **given: object) -> dict[str, Any]:
    return {"type": "tool_use", "tool_name": name, "tool_id": "t1", "parameters": given}


DONE = {"type": "result", "status": "success", "stats": {"input_tokens": 300, "output_tokens": 60, "cached": 5}}


def test_pieces_are_said_when_they_are_whole() -> None:
    told = events_of(piece("hel", delta=True), piece("lo", delta=True), use("read_file", file_path="a"))
    assert told == [Said("hello"), ToolStarted(id="t1", name="read_file", summary="a")]


def test_growing_pieces_are_said_once() -> None:  # REQUIREMENTS §4: cumulative chunks
    assert events_of(piece("hello"), piece("hello world"), DONE)[:1] == [Said("hello world")]
    assert heard_of(piece("hello"), piece("hello world"), DONE).text == "hello world"


def test_two_messages_are_two() -> None:
    assert events_of(piece("one"), piece("two"), DONE)[:2] == [Said("one"), Said("two")]


def test_the_users_own_message_is_not_repeated() -> None:
    assert events_of({"type": "message", "role": "user", "content": "do it"}, DONE)[0] == Spent(
        None, Usage(input_tokens=300, output_tokens=60, cache_read_tokens=5)
    )


def test_words_before_the_last_tool_do_not_count() -> None:
    assert heard_of(piece("DONE", delta=True), use("read_file"), DONE).text == ""


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"status": "success", "output": "a\nb"}, ToolEnded(id="t1", output="a\nb", error=None, lines=2, chars=3)),
        ({"status": "success"}, ToolEnded(id="t1")),
        (
            {"status": "error", "error": {"type": "x", "message": "no file"}},
            ToolEnded(id="t1", output="", error="no file"),
        ),
        ({"status": "error", "output": "bad"}, ToolEnded(id="t1", output="", error="bad", lines=1, chars=3)),
    ],
)
def test_a_tools_end(result: dict[str, Any], expected: ToolEnded) -> None:
    assert events_of({"type": "tool_result", "tool_id": "t1", **result}) == [expected]


def test_a_todo_list_is_a_plan_and_no_tool() -> None:
    todos = [{"description": "a", "status": "completed"}, {"description": "b", "status": "pending"}]
    told = events_of(use("write_todos", todos=todos), {"type": "tool_result", "tool_id": "t1", "status": "success"})
    assert told == [Planned((Todo("a", "done"), Todo("b")))]


def test_a_failed_result_is_an_error() -> None:
    failed = {"type": "result", "status": "error", "error": {"type": "FatalError", "message": "no quota"}}
    heard = heard_of(piece("x"), failed)
    assert (heard.closing, heard.error, heard.cut_short) == ("error", "no quota", False)
    assert events_of(failed)[-1] == Finished(ok=False, error="no quota")


def test_its_own_turn_limit_cuts_it_short() -> None:
    error = {"type": "FatalTurnLimitedError", "message": "Reached max session turns"}
    assert heard_of({"type": "result", "status": "error", "error": error}).cut_short


def test_a_warning_on_the_way_is_noted_and_forgotten() -> None:
    warning = {"type": "error", "severity": "warning", "message": "Loop detected"}
    assert events_of(warning) == [Noted("Loop detected")]
    assert heard_of(warning, piece("ok"), DONE).error == ""


@pytest.mark.parametrize("name", sorted(p.name for p in TRANSCRIPTS.glob("gemini_*.ndjson")))
def test_nothing_recorded_is_unparsed(name: str) -> None:
    parser = GeminiParser()
    parser.feed((TRANSCRIPTS / name).read_bytes())
    assert parser.summarize_run().unparsed == 0


def test_an_empty_answer_is_a_success_without_a_word() -> None:  # 0.61.0 tells it as an error
    words = "The model returned an empty response with no text or thoughts. This may be a transient API issue."
    heard = heard_of({"type": "error", "severity": "error", "message": words}, {**DONE, "status": "error"})
    assert (heard.closing, heard.text, heard.error) == ("success", "", "")


def test_a_command_its_policy_denies_was_refused() -> None:  # issue 12
    denied = {"type": "tool_result", "tool_id": "t1", "status": "error", "error": {"type": "policy_violation"}}
    heard = heard_of(use("run_shell_command", command="make other"), denied, piece("x"), DONE)
    assert (heard.denials, heard.refused_commands) == (("run_shell_command",), ("make other",))
    failed = {**denied, "error": {"type": "shell_execute_error", "message": "no"}}
    assert heard_of(use("run_shell_command", command="make other"), failed, piece("x"), DONE).denials == ()
