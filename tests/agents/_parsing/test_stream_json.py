"""Claude's stream-json, as Claude, Amp and the scripted agent print it."""

import json
from pathlib import Path
from typing import Any

import pytest

from ralph.agents._parsing.stream_json import MAX_FLOOD_TEXT_CHARS, StreamJsonParser
from ralph.model.events import (
    NO_USAGE,
    AgentEvent,
    FileEdit,
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

TRANSCRIPTS = Path(__file__).parents[2] / "transcripts"


def lines(*events: object) -> bytes:
    return b"".join((e if isinstance(e, bytes) else json.dumps(e).encode()) + b"\n" for e in events)


def events_of(*events: object) -> list[AgentEvent]:
    return list(StreamJsonParser().feed(lines(*events)))


def heard_of(*events: object) -> ParsedRun:
    parser = StreamJsonParser()
    parser.feed(lines(*events))
    return parser.summarize_run()


def assistant(*blocks: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": list(blocks)}, "parent_tool_use_id": parent}


def user(*blocks: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return {"type": "user", "message": {"content": list(blocks)}, "parent_tool_use_id": parent}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(name: str, call: str = "t1", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def answer(content: object = None, call: str = "t1", **more: object) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, **more}
    return block if content is None else {**block, "content": content}


def result(words: str | None = "done", **more: object) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "result": words, **more}


# -- what is told: 001-30, REQUIREMENTS §4 Claude ---------------------------------------------------
def test_a_tool_starts_with_its_path() -> None:
    assert events_of(assistant(use("Read", file_path="/path/to/file.go"))) == [
        ToolStarted(id="t1", name="Read", summary="/path/to/file.go")
    ]


def test_text_and_tool_of_one_message_come_in_order() -> None:
    assert events_of(assistant(text("look"), use("Read", file_path="a"))) == [
        Said("look"),
        ToolStarted(id="t1", name="Read", summary="a"),
    ]


def test_an_assistant_without_a_message_says_nothing() -> None:
    assert events_of({"type": "assistant"}) == []


def test_a_type_we_do_not_know_is_kept_and_counted() -> None:
    line = b'{"type":"future_type","x":1}'
    assert events_of(line) == [Unparsed(size=len(line), kind="future_type", sample=line.decode())]
    assert heard_of(line, line).unparsed == 2


def test_a_broken_line_does_not_stop_the_stream() -> None:
    assert events_of(b"{not valid json", assistant(text("still here"))) == [
        Unparsed(size=15, kind="", sample="{not valid json"),
        Said("still here"),
    ]


def test_a_tools_own_error_is_told() -> None:
    (event,) = events_of(user(answer("x", is_error=True, error="Permission denied")))
    assert event == ToolEnded(id="t1", output="x", error="Permission denied", lines=1, chars=1)


def test_without_one_the_content_is_the_error() -> None:
    (event,) = events_of(user(answer("File not found", is_error=True)))
    assert event == ToolEnded(id="t1", output="", error="File not found", lines=1, chars=14)


def test_an_error_without_words_is_still_an_error() -> None:
    (event,) = events_of(user(answer(is_error=True)))
    assert event == ToolEnded(id="t1", output="", error="failed")


@pytest.mark.parametrize("event", [{"session_id": "abc123"}, {"subtype": "init", "session_id": "abc123"}])
def test_a_session_is_noted(event: dict[str, str]) -> None:
    assert events_of({"type": "system", **event}) == [Noted("session: abc123")]


def test_costs_told_as_totals_become_differences() -> None:
    parser = StreamJsonParser()
    told = parser.feed(lines(result(total_cost_usd=0.01), result(total_cost_usd=0.03)))
    spent = [event.cost_usd for event in told if isinstance(event, Spent)]
    assert spent == [pytest.approx(0.01), pytest.approx(0.02)]
    assert parser.summarize_run().cost_usd == pytest.approx(0.03)


def test_a_total_that_shrank_is_a_new_count() -> None:
    assert heard_of(result(total_cost_usd=0.03), result(total_cost_usd=0.01)).cost_usd == pytest.approx(0.04)


def test_what_is_below_nothing_was_not_told() -> None:
    heard = heard_of(result(total_cost_usd=-5.0, usage={"input_tokens": -100, "output_tokens": 7}))
    assert heard.cost_usd is None
    assert heard.usage == Usage(output_tokens=7)
    assert heard_of(result(total_cost_usd=0.03), result(total_cost_usd=-5.0)).cost_usd == pytest.approx(0.03)


def test_tokens_by_their_kind() -> None:
    usage = {
        "input_tokens": 1234567,
        "output_tokens": 45000,
        "cache_creation_input_tokens": 50000,
        "cache_read_input_tokens": 800000,
    }
    heard = heard_of(result(usage=usage))
    assert heard.usage == Usage(
        input_tokens=1234567, output_tokens=45000, cache_read_tokens=800000, cache_write_tokens=50000
    )


def test_tokens_told_as_totals_are_counted_once() -> None:
    first, second = result(usage={"input_tokens": 100}), result(usage={"input_tokens": 150, "output_tokens": 7})
    assert heard_of(first, second).usage == Usage(input_tokens=150, output_tokens=7)
    assert heard_of(second, first).usage == Usage(input_tokens=250, output_tokens=7)


def test_tokens_of_each_message_are_not_added_up() -> None:
    message = assistant(text("a"))
    message["message"]["usage"] = {"input_tokens": 100}
    assert heard_of(message, message, result(usage={"input_tokens": 100})).usage == Usage(input_tokens=100)


# -- plans -----------------------------------------------------------------------------------------
TODOS = [
    {"content": "Read the file", "status": "completed"},
    {"content": "Edit the code", "status": "in_progress"},
    {"subject": "Run tests", "status": "pending"},
]


def test_a_todo_list_is_one_plan_and_no_tool() -> None:
    told = events_of(assistant(use("TodoWrite", todos=TODOS)), user(answer("Todos have been modified")))
    assert told == [Planned((Todo("Read the file", "done"), Todo("Edit the code", "active"), Todo("Run tests")))]


@pytest.mark.parametrize("todos", [[], "nonsense", None])
def test_an_empty_todo_list_is_no_plan(todos: object) -> None:
    assert events_of(assistant(use("TodoWrite", todos=todos))) == []


def test_tasks_created_and_updated_one_by_one_are_a_plan_too() -> None:
    told = events_of(
        assistant(use("TaskCreate", subject="Read")),
        assistant(use("TaskCreate", subject="Write")),
        assistant(use("TaskUpdate", taskId="1", status="completed")),
        assistant(use("TaskUpdate", taskId="2", status="deleted")),
        assistant(use("TaskUpdate", taskId="9", status="completed")),
    )
    assert told == [
        Planned((Todo("Read"),)),
        Planned((Todo("Read"), Todo("Write"))),
        Planned((Todo("Read", "done"), Todo("Write"))),
        Planned((Todo("Read", "done"),)),
    ]


# -- tools -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        ("Bash", {"description": "Run tests"}, "Run tests"),
        ("Bash", {"command": "make", "description": "Run tests"}, "make"),
        ("WebSearch", {"query": "python"}, "python"),
        ("mcp__x__y", {"path": "secret"}, ""),
        ("read_file", {"path": "/a"}, "/a"),  # 001-32
        ("Grep", {"pattern": "def .*"}, "def .*"),
        ("Read", {"file_path": 7, "path": ["no"]}, ""),
        ("Read", {}, ""),
    ],
)
def test_what_a_tool_is_about(tool: str, given: dict[str, Any], expected: str) -> None:
    assert events_of(assistant(use(tool, **given))) == [ToolStarted(id="t1", name=tool, summary=expected)]


def test_a_long_command_is_cut() -> None:
    (event,) = events_of(assistant(use("Bash", command="x" * 5000)))
    assert isinstance(event, ToolStarted)
    assert len(event.summary) == 2000


@pytest.mark.parametrize(
    ("content", "output", "count"),
    [
        ("line1\nline2", "line1\nline2", (2, 11)),
        ("hello\n", "hello\n", (1, 6)),
        ("", "", (0, 0)),
        (None, "", (0, 0)),
        (
            [{"type": "text", "text": "a"}, {"type": "image", "source": {}}, {"type": "text", "text": "b"}],
            "a\nb",
            (2, 3),
        ),
        ("x" * 5000, "x" * 2000, (1, 5000)),
    ],
)
def test_output_is_cut_and_counted_in_full(content: object, output: str, count: tuple[int, int]) -> None:
    lines, chars = count
    assert events_of(user(answer(content))) == [ToolEnded(id="t1", output=output, error=None, lines=lines, chars=chars)]


def test_tools_and_their_errors_are_counted() -> None:
    heard = heard_of(assistant(use("Bash")), user(answer("no", is_error=True)), assistant(use("Read", "t2")))
    assert (heard.tools, heard.errors) == (2, 1)


# -- other lines -----------------------------------------------------------------------------------
def test_thinking_is_said_as_thinking() -> None:
    assert events_of(assistant({"type": "thinking", "thinking": "hm"})) == [Said("hm", thinking=True)]


@pytest.mark.parametrize(
    "block", [{"type": "redacted_thinking", "data": "x"}, {"type": "image"}, {"type": "server_tool_use", "id": "s"}]
)
def test_blocks_we_do_not_know_cost_nothing_but_themselves(block: dict[str, Any]) -> None:
    assert events_of(assistant(block, text("go on"))) == [Said("go on")]


@pytest.mark.parametrize("kind", ["stream_event", "tool_progress", "rate_limit_event"])
def test_pieces_and_progress_are_silent(kind: str) -> None:
    assert events_of({"type": kind, "event": {"delta": {"text": "par"}}}) == []


@pytest.mark.parametrize("subtype", ["status", "thinking_tokens", "hook_started", "hook_response", "task_updated"])
def test_the_systems_small_talk_is_silent(subtype: str) -> None:
    assert events_of({"type": "system", "subtype": subtype, "session_id": "x"}) == []


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (529, "overloaded", "API retry 3/10 in 2.4s: 529 overloaded"),
        (None, "unknown", "API retry 3/10 in 2.4s: no connection, unknown"),
        (500, None, "API retry 3/10 in 2.4s: 500"),
    ],
)
def test_a_retry_is_noted(status: int | None, error: str | None, expected: str) -> None:
    retry = {"attempt": 3, "max_retries": 10, "retry_delay_ms": 2352.2, "error_status": status, "error": error}
    assert events_of({"type": "system", "subtype": "api_retry", **retry}) == [Noted(expected, status)]


def test_a_broken_plugin_is_noted_once() -> None:
    told = StreamJsonParser().feed((TRANSCRIPTS / "claude_badplug.ndjson").read_bytes())
    assert told.count(Noted("plugin badplug@inline: hook-load-failed")) == 1


def test_what_a_stop_hook_says_is_noted_in_a_line() -> None:
    assert events_of(user(text("Stop hook feedback:\nCommit it.\n\nThen stop."))) == [
        Noted("Stop hook feedback: Commit it. Then stop.")
    ]
    (long,) = events_of(user(text("Stop hook feedback:\n" + "x " * 400)))
    assert isinstance(long, Noted)
    assert (len(long.text), long.text[-1]) == (400, "…")
    assert events_of(user(text("Go on."))) == []


def test_a_notification_is_noted_without_the_keys_of_its_screen() -> None:
    event = {"type": "system", "subtype": "notification", "text": "Stop hook error occurred · ctrl+o to see"}
    assert events_of(event) == [Noted("Stop hook error occurred")]


def test_a_subagents_events_are_nested() -> None:
    told = events_of(
        assistant(text("sub"), use("Read", file_path="a"), parent="p"),
        user(answer("x"), parent="p"),
    )
    assert told == [
        Said("sub", nested=True),
        ToolStarted(id="t1", name="Read", summary="a", nested=True),
        ToolEnded(id="t1", output="x", error=None, lines=1, chars=1, nested=True),
    ]


def test_the_end_is_told_with_totals() -> None:
    told = events_of(result("done", total_cost_usd=0.5, num_turns=3, duration_ms=1500, usage={"input_tokens": 7}))
    assert told[-1] == Finished(
        ok=True, text="done", error="", cost_usd=0.5, usage=Usage(input_tokens=7), turns=3, seconds=1.5
    )


# -- the final text: FACTS §4, REQUIREMENTS §4 Result text ------------------------------------------
def test_the_last_result_wins() -> None:
    assert heard_of(result("first"), assistant(text("more")), result("second")).text == "second"


def test_a_result_in_the_middle_is_found() -> None:
    heard = heard_of({"type": "system"}, result("found"), {"type": "system", "subtype": "task_updated"})
    assert (heard.closing, heard.text) == ("success", "found")


def test_without_its_text_the_last_words_count() -> None:
    assert heard_of(assistant(text("a")), assistant(text("b"), text("c")), result(None)).text == "b\nc"


def test_words_before_the_last_tool_do_not_count() -> None:
    assert heard_of(assistant(text("<promise>X</promise>")), assistant(use("Read")), result(None)).text == ""


def test_words_beside_the_last_tool_do_not_count() -> None:
    assert heard_of(assistant(text("<promise>X</promise>"), use("Read")), result(None)).text == ""


def test_words_before_a_new_request_do_not_count() -> None:
    assert heard_of(assistant(text("<promise>X</promise>")), user(text("go on")), result(None)).text == ""


def test_a_subagents_tools_leave_our_words_alone() -> None:
    nested = assistant(use("Read"), parent="p"), user(answer("x"), text("task"), parent="p")
    assert heard_of(assistant(text("mine")), *nested, result(None)).text == "mine"


def test_words_sent_back_by_a_stop_hook_do_not_count() -> None:
    claim = assistant(text("<promise>X</promise>"))
    assert heard_of(claim, user(text("Stop hook feedback:\nNO")), result("")).text == ""


def test_an_empty_result_stays_empty() -> None:
    assert heard_of(assistant(text("<promise>X</promise>")), result("")).text == ""


def test_a_subagents_words_never_count() -> None:
    heard = heard_of(assistant(text("mine")), assistant(text("<promise>X</promise>"), parent="p"), result(None))
    assert heard.text == "mine"


def test_an_errors_result_is_no_text() -> None:
    heard = heard_of(assistant(text("mine")), result("API Error", is_error=True, api_error_status=529))
    assert (heard.closing, heard.text, heard.error, heard.status) == ("error", "mine", "API Error", 529)


# -- how it closed ---------------------------------------------------------------------------------
def test_amps_error_is_an_error() -> None:  # 001-32
    line = {"type": "result", "subtype": "error_during_execution", "error": "it broke", "is_error": True}
    heard = heard_of(line)
    assert (heard.closing, heard.error) == ("error", "it broke")
    assert events_of(line)[-1] == Finished(ok=False, error="it broke")


def test_amps_success_has_tokens_and_no_cost() -> None:  # 001-32
    line = result("ok", duration_ms=1234, num_turns=3, usage={"input_tokens": 100, "cache_read_input_tokens": 80})
    assert events_of({"type": "system", "subtype": "init", "session_id": "sess-123"}, line) == [
        Noted("session: sess-123"),
        Spent(None, Usage(input_tokens=100, cache_read_tokens=80)),
        Finished(ok=True, text="ok", usage=Usage(input_tokens=100, cache_read_tokens=80), turns=3, seconds=1.234),
    ]


@pytest.mark.parametrize("subtype", ["error_max_turns", "error_max_budget_usd"])
def test_a_limit_of_its_own_cuts_it_short(subtype: str) -> None:
    heard = heard_of({"type": "result", "subtype": subtype, "is_error": True, "errors": ["Reached it", 7]})
    assert (heard.closing, heard.cut_short, heard.error) == ("error", True, "Reached it; 7")


def test_a_retry_under_way_explains_the_silence() -> None:
    retry = {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 529}
    assert heard_of(retry).status == 529
    assert heard_of(retry, assistant(text("back"))).status is None


def test_the_hour_a_limit_ends_is_kept() -> None:
    limit = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1763230000}}
    heard = heard_of(limit, result("You've hit your limit", is_error=True))
    assert heard.error == "You've hit your limit|1763230000"


def test_a_limit_that_allows_is_none() -> None:
    limit = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed", "resetsAt": 1763230000}}
    assert heard_of(limit, result("done")).error == ""


# -- refusals --------------------------------------------------------------------------------------
def denied(*calls: tuple[str, str]) -> dict[str, Any]:
    return result(permission_denials=[{"tool_name": n, "tool_use_id": c, "tool_input": {}} for n, c in calls])


def test_refused_tools_are_named() -> None:
    wanted = "Claude requested permissions to write to /x, but you haven't granted it yet."
    heard = heard_of(assistant(use("Write")), user(answer(wanted, is_error=True)), denied(("Write", "t1")))
    assert heard.denials == ("Write",)


def test_a_lack_of_permission_counts_even_where_the_tool_else_works() -> None:
    heard = heard_of(
        assistant(use("Bash", "t1"), use("Bash", "t2")),
        user(answer("ok", "t1"), answer("This command requires approval", "t2", is_error=True)),
        denied(("Bash", "t2")),
    )
    assert heard.denials == ("Bash",)


@pytest.mark.parametrize(
    "words",
    [
        "This Bash command contains multiple operations. The following part requires approval: python3 -c 1",
        "A variable in this command can't be checked before it runs",  # 2.1.325
        "Contains simple_expansion",  # 2.1.197
    ],
)
def test_a_command_that_was_refused_is_named_once(words: str) -> None:  # issue 12
    given = {"tool_name": "Bash", "tool_use_id": "t2", "tool_input": {"command": "make test; echo rc=$?"}}
    heard = heard_of(
        assistant(use("Bash", "t1"), use("Bash", "t2")),
        user(answer("ok", "t1"), answer(words, "t2", is_error=True)),
        result(permission_denials=[given, given]),
    )
    assert heard.denials == ("Bash", "Bash")
    assert heard.refused_commands == ("make test; echo rc=$?",)


def test_a_refusal_of_our_own_guard_keeps_the_guards_words() -> None:  # issue 12
    given = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "rm -rf /etc"}}
    words = "PreToolUse:Bash hook error: ralph's guard: /etc belongs to the system. A person can allow it."
    heard = heard_of(
        assistant(use("Bash", "t1")),
        user(answer(words, "t1", is_error=True)),
        result(permission_denials=[given]),
    )
    assert (heard.denials, heard.refused_commands) == (("Bash",), ())
    assert heard.guard_words == ("/etc belongs to the system. A person can allow it.",)


def test_a_refused_edit_is_no_command() -> None:
    given = {"tool_name": "Write", "tool_use_id": "t1", "tool_input": {"file_path": "/x", "content": "y"}}
    assert heard_of(result(permission_denials=[given])).refused_commands == ()


def test_a_hooks_veto_is_no_lack_of_permission() -> None:
    parser = StreamJsonParser()
    parser.feed((TRANSCRIPTS / "claude_plugin.ndjson").read_bytes())
    assert parser.summarize_run().denials == ()


# -- odd input -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (rb"half an emoji \ud83d here", "half an emoji ? here"),
        (b"bad \xff byte", "bad \ufffd byte"),
        (b"control \x01 and \t tab", "control \x01 and \t tab"),
        ("whole 🎉".encode(), "whole 🎉"),
    ],
)
def test_a_damaged_line_is_mended(raw: bytes, expected: str) -> None:
    line = b'{"type":"assistant","message":{"content":[{"type":"text","text":"' + raw + b'"}]}}'
    assert events_of(line) == [Said(expected)]


def test_blank_lines_and_carriage_returns_are_no_trouble() -> None:
    assert StreamJsonParser().feed(b'\n\r\n  \n{"type":"system","session_id":"x"}\r\n\n{oops\n') == [
        Noted("session: x"),
        Unparsed(size=5, kind="", sample="{oops"),
    ]


def test_a_long_line_is_not_built_but_its_tool_is_ended() -> None:
    line = lines(user(answer("a line\n" * 400_000, is_error=False)))
    parser = StreamJsonParser()
    parser.feed(lines(assistant(use("Bash"))))
    (event,) = parser.feed(line)
    assert isinstance(event, ToolEnded)
    assert (event.id, event.output, event.error, event.lines) == ("t1", "", None, 0)
    assert event.chars > 2_800_000


def test_a_long_input_still_starts_its_tool() -> None:
    assert events_of(assistant(use("Write", file_path="big", content="x" * 3_000_000))) == [
        ToolStarted(id="t1", name="Write", summary="big")
    ]


def test_a_result_is_read_however_long_its_line() -> None:
    denial = {"tool_name": "Write", "tool_use_id": "t1", "tool_input": {"content": "x" * 3_000_000}}
    heard = heard_of(result("ok", permission_denials=[denial]))
    assert (heard.closing, heard.text, heard.denials) == ("success", "ok", ("Write",))


def test_a_long_text_is_counted_as_unparsed() -> None:
    parser = StreamJsonParser()
    (event,) = parser.feed(lines(assistant(text("x" * 3_000_000))))
    assert isinstance(event, Unparsed)
    assert parser.summarize_run().unparsed == 1


@pytest.mark.parametrize("name", sorted(p.name for p in TRANSCRIPTS.glob("claude_*.ndjson")))
def test_nothing_recorded_is_unparsed_however_it_is_cut(name: str) -> None:
    data = (TRANSCRIPTS / name).read_bytes()
    whole, single = StreamJsonParser(), StreamJsonParser()
    at_once = list(whole.feed(data))
    one_by_one = [event for line in data.splitlines(keepends=True) for event in single.feed(line)]
    assert at_once == one_by_one
    assert whole.summarize_run() == single.summarize_run()
    assert whole.summarize_run().unparsed == 0


# -- tokens on the way ------------------------------------------------------------------------------
def tell_tokens(id_: object, usage: object) -> object:
    return {"type": "assistant", "message": {"id": id_, "content": [text("hm")], "usage": usage}}


def test_without_a_result_the_tokens_of_its_messages_count_each_once() -> None:
    first, second = {"input_tokens": 100, "output_tokens": 1}, {"input_tokens": 30, "cache_read_input_tokens": 5}
    parser = StreamJsonParser()
    parser.feed(lines(tell_tokens("m1", first), tell_tokens("m1", first), tell_tokens("m2", second)))
    assert parser.summarize_run().usage == Usage(input_tokens=130, output_tokens=1, cache_read_tokens=5)
    parser.feed(lines(tell_tokens(None, first), tell_tokens(None, first)))
    assert parser.summarize_run().usage.input_tokens == 330
    parser.feed(lines(result("ok", usage={"input_tokens": 400})))
    assert parser.summarize_run().usage == Usage(input_tokens=400)


@pytest.mark.parametrize("usage", ["many", 7, {"input_tokens": "x"}, {"input_tokens": 1.5}, [], None])
def test_tokens_nobody_understands_cost_no_line(usage: object) -> None:
    parser = StreamJsonParser()
    assert parser.feed(lines(tell_tokens(["odd"], usage))) == [Said("hm")]
    assert parser.summarize_run().usage == NO_USAGE


# -- a flood: less is built, the same is judged -------------------------------------------------------
FILLER = [
    assistant({"type": "thinking", "thinking": "hm" * 100}, text("working on it " * 20)),
    assistant(use("Bash", "f", command="make\ntest")),
    user(answer("fine\n" * 100, "f")),
]
ODD: dict[str, list[object]] = {
    "nothing odd": [],
    "plain strings for contents": [
        {"type": "assistant", "message": {"content": "just a string"}},
        {"type": "user", "message": {"content": "go on"}},
    ],
    "messages without content": [{"type": "assistant"}, {"type": "user"}, assistant(), user()],
    "text before and after a call": [
        assistant(text("before"), use("Read", "r", file_path="a"), text("after"), text("it"))
    ],
    "a last text": [assistant(text("<response>DONE</response>"))],
    "a hook's feedback": [assistant(text("finished")), user(text("Stop hook feedback: not yet"))],
    "a subagent": [
        assistant(text("inner"), use("Bash", "n", command="ls"), parent="t"),
        user(answer("x", "n"), parent="t"),
    ],
    "failed tools": [
        assistant(use("Write", "w", file_path="a")),
        user(answer("no permission was granted", "w", is_error=True)),
        user(answer([text("one"), text("two")], "w", is_error=True)),
        user(answer("both", "w", is_error=True, error="its own")),
        user(answer(None, "w", is_error=True)),
        user(answer([{"type": "image", "source": {}}], "w", is_error=True)),
    ],
    "plans": [
        assistant(text("before"), use("TodoWrite", "p", todos=[{"content": "a", "status": "pending"}])),
        user(answer("ok", "p")),
        assistant(use("TodoWrite", "q", todos=[{"content": "a", "status": "completed"}])),
        user(answer("ok", "q")),
    ],
    "tasks": [
        assistant(use("TaskCreate", "p", subject="a")),
        assistant(use("TaskUpdate", "q", taskId="1", status="completed")),
    ],
    "kinds nobody knows": [
        assistant({"type": "redacted_thinking", "data": "x"}, text("beside it")),
        assistant({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, use("Bash", "k")),
        user({"type": "image", "source": {}}, answer("x", "k")),
    ],
    "odd inputs": [assistant(*({**use("Bash", "o"), "input": given} for given in (None, 7, "x", ["x"])))],
    "half an emoji": [rb'{"type":"assistant","message":{"content":[{"type":"text","text":"cut \ud83d"}]}}'],
    "bad UTF-8": [b'{"type":"assistant","message":{"content":[{"type":"text","text":"\xff\xfe"}]}}'],
    "a text that is none": [b'{"type":"assistant","message":{"content":[{"type":"text","text":7}]}}'],
    "no JSON": [b"Segmentation fault", b'{"type":"brand_new"}'],
    "a limit": [{"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 99.0}}],
    "a retry that helped": [{"type": "system", "subtype": "api_retry", "error_status": 529}, assistant(text("back"))],
    "a retry": [{"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 3, "error_status": 529}],
}


@pytest.mark.parametrize("ends", [True, False], ids=["ended", "cut off"])
@pytest.mark.parametrize("odd", ODD)
def test_a_flood_is_judged_as_its_lines_are(odd: str, ends: bool) -> None:
    refused = [{"tool_name": "Bash", "tool_use_id": "b"}]  # by a hook: Bash itself works
    closing = [result("<promise>X</promise>", total_cost_usd=1.0, permission_denials=refused)] if ends else []
    data = lines(*FILLER * 200, *ODD[odd], *closing)
    whole, single = StreamJsonParser(), StreamJsonParser()
    at_once = whole.feed(data)
    one_by_one = [event for line in data.splitlines(keepends=True) for event in single.feed(line)]
    assert whole.summarize_run() == single.summarize_run()
    shown = [e for e in one_by_one if not (isinstance(e, Said) and e.thinking)]
    assert [_bare(e) for e in at_once if not isinstance(e, Planned)] == [
        _bare(e) for e in shown if not isinstance(e, Planned)
    ]
    assert [e for e in at_once if isinstance(e, Planned)][-1:] == [e for e in shown if isinstance(e, Planned)][-1:]


def test_a_flood_leaves_out_thoughts_and_what_tools_printed() -> None:
    events = StreamJsonParser().feed(lines(*FILLER * 200))
    assert len(events) == 600
    assert events[2] == ToolEnded(id="f", output="", error=None, lines=0, chars=602)


def test_a_flood_leaves_out_the_lines_that_an_edit_changes() -> None:
    edit = assistant(use("Write", "w", file_path="a", content="one"))
    (alone,) = StreamJsonParser().feed(lines(edit))
    *_, last = StreamJsonParser().feed(lines(*FILLER * 200, edit))
    assert alone == ToolStarted(id="w", name="Write", summary="a", edit=FileEdit(added=1, hunk=" one", whole=True))
    assert last == ToolStarted(id="w", name="Write", summary="a")


def test_of_many_plans_in_a_flood_the_latest_is_told() -> None:
    plans = [assistant(use("TodoWrite", f"p{n}", todos=[{"content": f"step {n}"}])) for n in range(10)]
    events = StreamJsonParser().feed(lines(*FILLER * 200, *plans))
    assert [event for event in events if isinstance(event, Planned)] == [Planned((Todo("step 9"),))]


def test_a_large_result_alone_is_no_flood() -> None:
    (event,) = events_of(user(answer("a line\n" * 40_000)))
    assert isinstance(event, ToolEnded)
    assert (event.lines, event.chars) == (40_000, 280_000)


def _bare(event: AgentEvent) -> AgentEvent:
    """As much of an event as a flood tells."""
    match event:
        case ToolEnded():
            return ToolEnded(id=event.id, output="", error=event.error, nested=event.nested)
        case Unparsed():
            return Unparsed(size=0)
        case Said() if len(event.text) > MAX_FLOOD_TEXT_CHARS:
            return Said(event.text[:MAX_FLOOD_TEXT_CHARS] + "…", False, event.nested)
        case _:
            return event


# -- what is no event at all --------------------------------------------------------------------------
SPILLED = {
    "no JSON": b"garbage",
    "cut off": b'{"type":"assistant","message":{"content":[{"type":"text","te',
    "broken": b'{"type":"assistant",,}',
    "half an emoji in no event": rb'{"type":"strange","x":"\ud83d"}',
}


@pytest.mark.parametrize("line", SPILLED.values(), ids=SPILLED)
def test_of_many_lines_that_are_none_the_first_are_told_and_the_rest_counted(line: bytes) -> None:
    parser = StreamJsonParser()
    closing = lines(result("<response>DONE</response>"))
    events = parser.feed((line + b"\n") * 5_000 + closing + b"\n \n")
    strange = [event for event in events if isinstance(event, Unparsed)]
    assert len(strange) == 101
    assert (strange[-1].count, strange[-1].size) == (4_900, 4_900 * len(line))
    heard = parser.summarize_run()
    assert (heard.unparsed, heard.closing, heard.text) == (5_000, "success", "<response>DONE</response>")
