"""A child's output, heard: what goes to the log, to watchers, and back to whoever pumps it."""

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

from ralph.agents.claude import build
from ralph.agents.qwen import build as build_qwen
from ralph.engine.stream import OutputStream
from ralph.model.command import ENOUGH_OUTPUT, FINAL_OUTPUT
from ralph.model.events import AgentEvent, Said, Spent, ToolEnded, Unparsed, Usage
from ralph.model.ports import AgentOptions, ParsedRun
from ralph.process import output
from ralph.process.output import BoundedLog
from support.scripted_processes import Listener

RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "done", "total_cost_usd": 0.5}
FAILED = {**RESULT, "subtype": "error_during_execution", "is_error": True}
SAYING = {"type": "assistant", "message": {"content": [{"type": "text", "text": "hm"}]}}
CALLING = {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]}}
TASK = {"type": "system", "subtype": "task_updated"}  # of a background shell
NOTICE = {"type": "system", "subtype": "notification", "text": "there is a new version"}
NOVELTY = {"type": "novelty"}
REJECTED = {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "error_status": 401}
FORBIDDEN = {**REJECTED, "error_status": 403}
OVERLOADED = {**REJECTED, "error_status": 529}


@pytest.mark.parametrize(
    ("events", "answer"),
    [
        ([SAYING], None),
        ([RESULT], FINAL_OUTPUT),
        ([FAILED], FINAL_OUTPUT),
        ([SAYING, RESULT], FINAL_OUTPUT),
        ([RESULT, TASK, NOTICE, NOVELTY], FINAL_OUTPUT),
        ([RESULT, CALLING], None),
        ([RESULT, SAYING, TASK], None),
        ([RESULT, CALLING, RESULT], FINAL_OUTPUT),
        ([REJECTED], None),
        ([REJECTED, NOTICE, FORBIDDEN], ENOUGH_OUTPUT),
        ([REJECTED, SAYING, REJECTED], None),
        ([OVERLOADED, OVERLOADED, OVERLOADED], None),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_the_end_is_a_closing_event_with_nothing_after_it_or_a_key_refused_twice(
    events: list[dict[str, object]], answer: str | None, at_once: bool, tmp_path: Path
) -> None:
    conversation = OutputStream(
        build(AgentOptions(command=("claude",))).parser("stream"),
        BoundedLog(f"{tmp_path}/log"),
        watchers=(),
        iteration=1,
    )
    lines = [json.dumps(event).encode() + b"\n" for event in events]
    blocks = [b"".join(lines)] if at_once else lines
    assert [conversation.feed(block) for block in blocks][-1] == answer
    conversation.finish()


@pytest.mark.parametrize(
    ("name", "closing", "again"),
    [
        ("codex", {"type": "turn.completed", "usage": {}}, {"type": "turn.started"}),
        (
            "opencode",
            {"type": "step_finish", "sessionID": "s", "part": {"reason": "stop"}},
            {"type": "step_start", "sessionID": "s", "part": {}},
        ),
    ],
)
def test_who_begins_anew_has_not_said_its_last_word(
    name: str, closing: dict[str, object], again: dict[str, object], tmp_path: Path
) -> None:
    parser = import_module(f"ralph.agents.{name}").build(AgentOptions(command=(name,))).parser("stream")
    conversation = OutputStream(parser, BoundedLog(f"{tmp_path}/log"), watchers=(), iteration=1)
    told = [conversation.feed(json.dumps(event).encode() + b"\n") for event in (again, closing, again, closing)]
    assert told == [None, FINAL_OUTPUT, None, FINAL_OUTPUT]
    conversation.finish()


def test_who_spent_all_has_had_enough_also_with_its_last_word(tmp_path: Path) -> None:
    parser = build(AgentOptions(command=("claude",))).parser("stream")
    conversation = OutputStream(parser, BoundedLog(f"{tmp_path}/log"), watchers=(), iteration=1, budget_usd=0.1)
    assert conversation.feed(json.dumps(RESULT).encode() + b"\n") == ENOUGH_OUTPUT
    conversation.finish()


class ScriptedParser:
    """Each whole line is the number of an event."""

    def __init__(self, *events: AgentEvent) -> None:
        self._events = events

    def feed(self, block: bytes | bytearray) -> Sequence[AgentEvent]:
        return [self._events[int(line)] for line in block.split()]

    def summarize_run(self) -> ParsedRun:
        return ParsedRun(closing="none")


def hear(tmp_path: Path, *events: AgentEvent) -> OutputStream:
    """A run that ended with these."""
    stream = OutputStream(ScriptedParser(*events), BoundedLog(f"{tmp_path}/log"), watchers=(), iteration=1)
    stream.feed(b"".join(b"%d\n" % number for number in range(len(events))))
    stream.finish()
    return stream


def test_watchers_hear_every_line_and_the_log_keeps_every_byte_but_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output.LineSplitter.__init__, "__defaults__", (20,))
    listener = Listener()
    parser = ScriptedParser(Said("one"), Said("two"), Said("three"))
    stream = OutputStream(parser, BoundedLog(f"{tmp_path}/log"), watchers=[listener], iteration=7)
    for block in (b"0\n", b"9" * 30, b"\n1\n", b"1\n", b"9" * 40, b"\n2"):
        assert stream.feed(block) is None
    stream.finish(lambda data: [(0, 1)])
    assert listener.told == [
        (7, Said("one")),
        (7, Said("two")),
        (7, Unparsed(size=31)),
        (7, Said("two")),
        (7, Said("three")),
        (7, Unparsed(size=41)),
    ]
    assert Path(f"{tmp_path}/log").read_bytes().endswith(b"9" * 40 + b"\n2")
    assert not Path(f"{tmp_path}/log").read_bytes().startswith(b"0"), "what is secret is not kept"


def test_an_end_that_is_too_long_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output.LineSplitter.__init__, "__defaults__", (20,))
    listener = Listener()
    stream = OutputStream(ScriptedParser(), BoundedLog(f"{tmp_path}/log"), watchers=[listener], iteration=1)
    stream.feed(b"9" * 30)
    stream.finish()
    assert listener.told == [(1, Unparsed(size=30))]


@pytest.mark.parametrize(
    ("spent", "estimate", "told", "answer"),
    [
        (Spent(0.5), None, Spent(0.5), ENOUGH_OUTPUT),
        (Spent(0.25), None, Spent(0.25), None),
        (Spent(0.25), 9.0, Spent(0.25), None),  # its own word counts
        (Spent(None, Usage(input_tokens=7)), 0.5, Spent(None, Usage(input_tokens=7), 0.5), ENOUGH_OUTPUT),
        (Spent(None, Usage(input_tokens=7)), 0.25, Spent(None, Usage(input_tokens=7), 0.25), None),
        (Spent(None, Usage(input_tokens=7)), None, Spent(None, Usage(input_tokens=7)), None),
    ],
)
def test_a_budget_is_spent_by_what_the_agent_tells_or_by_the_price_of_its_tokens(
    tmp_path: Path, spent: Spent, estimate: float | None, told: Spent, answer: str | None
) -> None:
    listener = Listener()
    stream = OutputStream(
        ScriptedParser(Said("hm"), spent),
        BoundedLog(f"{tmp_path}/log"),
        watchers=[listener],
        iteration=1,
        budget_usd=0.5,
        estimate=None if estimate is None else lambda usage: estimate,
    )
    assert stream.feed(b"0\n1\n") == answer
    stream.finish()
    assert listener.told == [(1, Said("hm")), (1, told)]


@pytest.mark.parametrize(
    ("errors", "repeated"),
    [
        ([], ""),
        ([None], ""),
        ([" no such host\n"], "no such host"),
        (["no such host", None], "no such host"),
        (["no such host", None, None], ""),  # most of them worked
        (["a", "b", "b", None], "b"),
        (["z", "b", "b"], "b"),
        (["a", "b", "c"], ""),  # each for another reason
        (["a", "b", "c", None], ""),
        (["a", "a", "b", "b", None], ""),
        (["x" * 400], "x" * 300),
        (["a"] * 300 + [None] * 250, "a"),  # not all are remembered
    ],
)
def test_an_error_that_most_tool_calls_ended_with_is_known(
    tmp_path: Path, errors: list[str | None], repeated: str
) -> None:
    stream = hear(tmp_path, *(ToolEnded(id="t", error=error) for error in errors))
    assert stream.find_repeated_error() == repeated


def test_a_budget_is_kept_by_tokens_that_are_told_on_the_way(tmp_path: Path) -> None:
    """Qwen Code tells the tokens of each message, and no cost."""
    stream = OutputStream(
        build_qwen(AgentOptions(command=("qwen",))).parser("stream"),
        BoundedLog(f"{tmp_path}/log"),
        watchers=(),
        iteration=1,
        budget_usd=0.5,
        estimate=lambda usage: usage.input_tokens / 1000,
    )
    said = [stream.feed(tell_tokens(f"m{number}", 200)) for number in range(3)]
    assert said == [None, None, ENOUGH_OUTPUT]
    stream.finish()


def tell_tokens(message: str, tokens: int) -> bytes:
    told = {"id": message, "content": [{"type": "text", "text": "hm"}], "usage": {"input_tokens": tokens}}
    return json.dumps({"type": "assistant", "message": told}).encode() + b"\n"
