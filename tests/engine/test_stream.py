"""A child's output, heard: what goes to the log, to watchers, and back to whoever pumps it."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from ralph.agents.claude import build
from ralph.engine.stream import OutputStream
from ralph.model.command import ENOUGH_OUTPUT, FINAL_OUTPUT
from ralph.model.ports import AgentOptions
from ralph.process.output import BoundedLog

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
