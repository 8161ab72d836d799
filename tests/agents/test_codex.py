"""The lines of `codex exec --json`. 001-31, REQUIREMENTS §4 Codex."""

import json
from pathlib import Path
from typing import Any

import pytest

from ralph.agents._parsing.codex_json import CodexParser
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
    Unparsed,
    Usage,
)
from ralph.model.ports import ParsedRun

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def events_of(*events: dict[str, Any]) -> list[AgentEvent]:
    return list(CodexParser().feed(lines(*events)))


def heard_of(*events: dict[str, Any]) -> ParsedRun:
    parser = CodexParser()
    parser.feed(lines(*events))
    return parser.summarize_run()


def item(stage: str, kind: str, call: str = "i1", **more: object) -> dict[str, Any]:
    return {"type": f"item.{stage}", "item": {"id": call, "type": kind, **more}}


def said(words: str) -> dict[str, Any]:
    return item("completed", "agent_message", text=words)


DONE = {"type": "turn.completed", "usage": {"input_tokens": 25030, "cached_input_tokens": 21760, "output_tokens": 673}}


def test_a_thread_is_noted() -> None:
    assert events_of({"type": "thread.started", "thread_id": "th-1"}) == [Noted("thread: th-1")]


def test_a_turn_that_starts_says_nothing() -> None:
    assert events_of({"type": "turn.started"}) == []


def test_a_command_starts_with_all_its_words() -> None:
    for command, meant in {
        "/bin/bash -lc 'ls -la'": "ls -la",
        "bash -lc \"echo 'hi there'\"": "echo 'hi there'",
        "/usr/bin/zsh -lc ls": "ls",
        "bash -lc 'unfinished": "bash -lc 'unfinished",
        "bash -lc 'a' b": "bash -lc 'a' b",
        "bash run.sh": "bash run.sh",
    }.items():
        started = events_of(item("started", "command_execution", command=command))
        assert started == [ToolStarted(id="i1", name="Bash", summary=meant)]


@pytest.mark.parametrize(
    ("output", "code", "expected"),
    [
        (
            "cat: no such file",
            1,
            ToolEnded(id="i1", output="cat: no such file", error="exit code 1: cat: no such file", lines=1, chars=17),
        ),
        ("", 3, ToolEnded(id="i1", output="", error="exit code 3")),
        ("hello\n", 0, ToolEnded(id="i1", output="hello\n", error=None, lines=1, chars=6)),
    ],
)
def test_a_command_ends_with_its_output_or_error(output: str, code: int, expected: ToolEnded) -> None:
    start = item("started", "command_execution", command="x", exit_code=None, aggregated_output="")
    end = item("completed", "command_execution", command="x", exit_code=code, aggregated_output=output)
    assert events_of(start, end)[1:] == [expected]


@pytest.mark.parametrize(("kind", "thinking"), [("agent_message", False), ("reasoning", True)])
def test_words_are_said_unless_there_are_none(kind: str, thinking: bool) -> None:
    assert events_of(item("completed", kind, text="hi"), item("completed", kind, text="")) == [Said("hi", thinking)]


def test_an_item_we_do_not_know_is_kept() -> None:
    (event,) = events_of(item("completed", "hologram", text="x"))
    assert isinstance(event, Unparsed)
    assert event.kind == "item.completed"
    assert "hologram" in event.sample


def test_a_turn_ends_with_tokens_and_no_cost() -> None:
    usage = Usage(input_tokens=25030, output_tokens=673, cache_read_tokens=21760)
    assert events_of(said("hi"), DONE)[1:] == [Spent(None, usage), Finished(ok=True, text="hi", usage=usage)]


def test_a_turn_without_tokens_still_ends() -> None:
    assert events_of({"type": "turn.completed"}) == [Spent(), Finished(ok=True)]


def test_a_tool_told_only_at_its_end_starts_and_ends() -> None:
    change = item("completed", "file_change", changes=[{"path": "a", "kind": "add"}, {"path": "b"}], status="completed")
    assert events_of(change) == [ToolStarted(id="i1", name="Edit", summary="a (new), b"), ToolEnded(id="i1")]


def test_other_tools() -> None:
    told = events_of(
        item("started", "mcp_tool_call", "m", server="db", tool="query", status="in_progress"),
        item("completed", "mcp_tool_call", "m", server="db", tool="query", status="failed", error={"message": "no db"}),
        item("completed", "web_search", "w", query="python"),
    )
    assert told == [
        ToolStarted(id="m", name="db.query"),
        ToolEnded(id="m", output="", error="no db"),
        ToolStarted(id="w", name="WebSearch", summary="python"),
        ToolEnded(id="w"),
    ]


@pytest.mark.parametrize("stage", ["started", "updated", "completed"])
def test_a_plan_is_told_each_time(stage: str) -> None:
    todo = item(stage, "todo_list", items=[{"text": "a", "completed": True}, {"text": "b", "completed": False}])
    assert events_of(todo) == [Planned((Todo("a", "done"), Todo("b")))]


def test_a_mere_warning_is_noted() -> None:
    assert events_of(item("completed", "error", message="careful")) == [Noted("careful")]
    assert heard_of(item("completed", "error", message="careful"), said("x"), DONE).error == ""


def test_a_declined_command_was_refused() -> None:
    end = item("completed", "command_execution", command="rm", status="declined")
    heard = heard_of(end, said("x"), DONE)
    assert (heard.denials, heard.refused_commands) == (("Bash",), ("rm",))


# -- a Codex that cannot run anything ----------------------------------------------------------------
PANIC = "thread 'main' panicked at linux-sandbox/src/launcher.rs"


def ran(command: str, code: int, output: str, call: str = "c1") -> dict[str, Any]:
    more = {"command": command, "exit_code": code, "aggregated_output": output, "status": "failed" if code else ""}
    return item("completed", "command_execution", call, **more)


@pytest.mark.parametrize("output", [PANIC, f"\n{PANIC}", "bwrap: Creating new namespace failed: no space left"])
def test_a_sandbox_that_cannot_be_set_up_is_told(output: str) -> None:  # issue 12
    broken = heard_of(ran("ls", 101, output), said("DONE"), DONE).broken
    assert "Codex could not run a single command here" in broken
    assert output.strip()[:30] in broken
    assert "CODEX_HOME outside the temporary folder" in broken


def test_missing_helper_programs_are_told() -> None:  # issue 12
    parser = CodexParser()
    parser.feed((TRANSCRIPTS / "codex_bare_ok.ndjson").read_bytes())
    assert "Code Mode is unavailable" in parser.summarize_run().broken


def test_one_command_that_ran_is_enough_to_be_well() -> None:
    assert heard_of(ran("ls", 1, PANIC), ran("ls", 0, "x", "c2"), DONE).broken == ""
    assert heard_of(ran("cat log", 1, "see: bwrap: failed"), DONE).broken == ""


def test_a_retry_has_its_status() -> None:  # issue 12
    words = "Reconnecting... 1/5 (unexpected status 401 Unauthorized: invalid api key)"
    assert events_of({"type": "error", "message": words}) == [Noted(words, 401)]


# -- the final text --------------------------------------------------------------------------------
def test_the_last_message_wins() -> None:
    assert heard_of(said("first"), said("second"), DONE).text == "second"


def test_without_a_completed_turn_there_is_no_success() -> None:
    heard = heard_of(said("<response>DONE</response>"))
    assert (heard.closing, heard.text) == ("none", "<response>DONE</response>")


def test_a_turn_without_a_message_has_no_text() -> None:
    heard = heard_of(DONE)
    assert (heard.closing, heard.text) == ("success", "")


def test_words_before_the_last_tool_do_not_count() -> None:
    assert heard_of(said("DONE"), item("completed", "command_execution", command="x"), DONE).text == ""


def test_a_message_told_in_growing_pieces_is_its_last_form() -> None:
    told = events_of(
        item("started", "agent_message", text="hello"),
        item("updated", "agent_message", text="hello"),
        item("completed", "agent_message", text="hello world"),
    )
    assert told == [Said("hello world")]


# -- failure ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("file", "status"), [("401", 401), ("429", 429), ("500", None)])
def test_a_failed_turn_is_an_error_with_its_status(file: str, status: int | None) -> None:
    parser = CodexParser()
    parser.feed((TRANSCRIPTS / f"codex_err_{file}.ndjson").read_bytes())
    heard = parser.summarize_run()
    assert (heard.closing, heard.status) == ("error", status)
    assert heard.error


def test_a_turn_that_recovers_is_a_success() -> None:
    reconnecting = {"type": "error", "message": "Reconnecting... 1/5 (status 503)"}
    heard = heard_of({"type": "turn.started"}, reconnecting, said("ok"), DONE)
    assert (heard.closing, heard.error, heard.status) == ("success", "", None)


def test_a_warning_before_an_empty_success_is_forgotten() -> None:
    assert heard_of({"type": "error", "message": "Reconnecting... 1/5"}, DONE).error == ""


@pytest.mark.parametrize("name", sorted(p.name for p in TRANSCRIPTS.glob("codex_*.ndjson")))
def test_nothing_recorded_is_unparsed(name: str) -> None:
    parser = CodexParser()
    parser.feed((TRANSCRIPTS / name).read_bytes())
    assert parser.summarize_run().unparsed == 0
