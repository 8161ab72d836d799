"""Qwen Code: how it is called, and where its lines differ from Claude's."""

import json
from pathlib import Path
from typing import Any

import pytest

from ralph.agents import qwen
from ralph.agents.qwen import QwenParser
from ralph.model.agent_card import Grant
from ralph.model.events import Noted, ToolEnded, ToolStarted, Unparsed
from ralph.model.ports import AgentOptions, OutputMode, ParsedRun

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
FAILED = {"type": "result", "subtype": "error_during_execution", "is_error": True}


def options(*flags: str, **more: object) -> AgentOptions:
    return AgentOptions(command=("qwen",), flags=flags, **more)  # type: ignore[arg-type]  # by name


def recorded(name: str) -> tuple[list[object], ParsedRun]:
    parser = QwenParser()
    events = parser.feed((TRANSCRIPTS / f"{name}.ndjson").read_bytes())
    return list(events), parser.summarize_run()


def heard_of(*events: dict[str, Any]) -> ParsedRun:
    parser = QwenParser()
    parser.feed(b"".join(json.dumps(event).encode() + b"\n" for event in events))
    return parser.summarize_run()


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("stream", "qwen --debug --yolo --output-format stream-json"),
        ("text", "qwen --debug --yolo --output-format text"),
    ],
)
def test_qwen_reads_the_prompt_on_stdin(mode: OutputMode, expected: str) -> None:  # issue 11
    call = qwen.build(options("--debug")).invocation("do it", mode, None)
    assert (" ".join(call.argv), call.stdin) == (expected, "do it")


def test_the_users_format_stands() -> None:
    assert "--output-format" not in qwen.build(options("-o", "json")).invocation("p", "stream", None).argv


def test_a_run_is_read_as_claudes() -> None:  # issue 11
    events, heard = recorded("qwen_json")
    assert (heard.closing, heard.text) == ("success", "All good.\n\n<response>DONE</response>")
    assert (heard.cost_usd, heard.usage.output_tokens) == (None, 300)
    names = [event.name for event in events if isinstance(event, ToolStarted)]
    assert {"run_shell_command", "write_file"} <= set(names)
    assert any(isinstance(event, ToolEnded) and event.error for event in events)
    assert any(isinstance(event, Noted) and event.text.startswith("session: ") for event in events)
    assert not any(isinstance(event, Unparsed) for event in events)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 529])
def test_the_status_of_an_error_is_in_its_words(status: int) -> None:  # issue 11
    heard = recorded(f"qwen_err_{status}")[1]
    assert (heard.closing, heard.status) == ("error", status)
    assert heard.error.startswith(f"[API Error: {status} ")


def test_an_answer_without_a_word_is_no_error() -> None:
    heard = recorded("qwen_err_empty")[1]
    assert (heard.closing, heard.text, heard.error) == ("success", "", "")


@pytest.mark.parametrize("error", ["words", {"message": "words"}])
def test_an_error_may_be_an_object(error: object) -> None:
    assert heard_of({**FAILED, "error": error}).error == "words"


def test_a_retry_is_noted() -> None:
    retry = {"type": "system", "subtype": "retry", "data": {"attempt": 1, "maxRetries": 10, "delayMs": 60000}}
    parser = QwenParser()
    assert parser.feed(json.dumps(retry).encode()) == [Noted("API retry 1/10 in 60.0s")]
    assert parser.feed(json.dumps({**retry, "data": [1]}).encode()) == [Noted("API retry")]


def test_a_refused_command_is_named() -> None:  # issue 12
    heard = recorded("qwen_refused")[1]
    assert (heard.denials, heard.refused_commands) == (("run_shell_command",), ("python3 -c 'print(1)'",))


# -- permissions -------------------------------------------------------------------------------------
def test_checks_are_a_rule_each_and_a_flag_ends_the_list() -> None:  # issue 12
    agent = qwen.build(options(permissions="checks", allow=("make test", "uv run *")))
    assert agent.invocation("p", "stream", None).argv == (
        *("qwen", "--approval-mode", "auto-edit", "--allowed-tools", "run_shell_command(make test)"),
        *("--allowed-tools", "run_shell_command(uv run)", "--output-format", "stream-json"),
    )


def test_edits_and_all() -> None:
    assert qwen.grant_permissions(options(permissions="edits")).argv == ("--approval-mode", "auto-edit")
    assert qwen.grant_permissions(options(permissions="all")) == Grant(argv=("--yolo",))


def test_a_command_with_a_comma_cannot_be_allowed() -> None:
    grant = qwen.grant_permissions(options(permissions="checks", allow=("ruff --select E,F", "npm run te*")))
    assert grant.argv == ("--approval-mode", "auto-edit")
    assert grant.limits == (
        "Qwen Code cannot allow `npm run te*`: `*` must be its last word.",
        "Qwen Code cannot allow `ruff --select E,F`: it has a comma.",
    )
