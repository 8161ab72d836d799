"""GitHub Copilot CLI: how it is called, and the lines of its `--output-format json`."""

import json
from pathlib import Path
from typing import Any

import pytest

from ralph.agents import copilot
from ralph.agents.copilot import CopilotParser
from ralph.model.agent_card import Grant
from ralph.model.events import AgentEvent, Finished, Noted, Said, ToolEnded, ToolStarted, Unparsed
from ralph.model.ports import AgentOptions, OutputMode, ParsedRun

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
OK = {"type": "result", "sessionId": "s-1", "exitCode": 0}


def options(*flags: str, **more: object) -> AgentOptions:
    return AgentOptions(command=("copilot",), flags=flags, **more)  # type: ignore[arg-type]  # by name


def event(kind: str, **data: object) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": "1", "timestamp": "t", "parentId": None}


def said(words: str, *requests: str, **more: object) -> dict[str, Any]:
    return event("assistant.message", content=words, toolRequests=[{"name": name} for name in requests], **more)


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)


def events_of(*events: dict[str, Any]) -> list[AgentEvent]:
    return list(CopilotParser().feed(lines(*events)))


def heard_of(*events: dict[str, Any]) -> ParsedRun:
    parser = CopilotParser()
    parser.feed(lines(*events))
    return parser.summarize_run()


def recorded(name: str) -> tuple[list[AgentEvent], ParsedRun]:
    parser = CopilotParser()
    events = parser.feed((TRANSCRIPTS / f"{name}.ndjson").read_bytes())
    return list(events), parser.summarize_run()


# -- how it is called --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("stream", "copilot --model x --allow-all-tools --output-format json --no-color"),
        ("text", "copilot --model x --allow-all-tools --silent --no-color"),
    ],
)
def test_copilot_reads_the_prompt_on_stdin(mode: OutputMode, expected: str) -> None:  # issue 11
    call = copilot.build(options("--model", "x")).invocation("do it", mode, None)
    assert (" ".join(call.argv), call.stdin) == (expected, "do it")


def test_checks_are_programs_and_that_is_said() -> None:  # issue 12
    allow = ("make test", "git commit *", "npm test", "uv *")
    grant = copilot.grant_permissions(options(permissions="checks", allow=allow, folders=("/task",)))
    assert grant.argv == (
        *("--allow-tool=write", "--allow-tool=shell(make)", "--allow-tool=shell(git commit)"),
        *("--allow-tool=shell(npm test)", "--allow-tool=shell(uv)", "--add-dir", "/task"),
    )
    assert grant.limits == ("GitHub Copilot CLI cannot allow `make test` alone: it may run every `make` command.",)


def test_edits_and_all() -> None:
    assert copilot.grant_permissions(options(permissions="edits")).argv == ("--allow-tool=write",)
    assert copilot.grant_permissions(options(permissions="all")) == Grant(argv=("--allow-all",))


def test_tokens_that_git_needs_too_are_kept_from_nobody() -> None:
    assert not {"GH_TOKEN", "GITHUB_TOKEN"} & copilot.CARD.env_keys


# -- its lines ---------------------------------------------------------------------------------------
def test_a_run() -> None:  # issue 11
    events, heard = recorded("copilot_json")
    assert (heard.closing, heard.text) == ("success", "All good.\n\n<response>DONE</response>")
    assert (heard.tools, heard.errors, heard.unparsed) == (4, 1, 0)
    assert {each.name for each in events if isinstance(each, ToolStarted)} >= {"create", "bash"}
    failed = [each.error for each in events if isinstance(each, ToolEnded) and each.error]
    assert failed[0].startswith("exit code 3: ")
    assert isinstance(events[-1], Finished)


def test_only_a_result_with_exit_code_0_is_a_success() -> None:  # issue 11
    assert heard_of(said("DONE")).closing == "none"
    assert heard_of(said("DONE"), OK).closing == "success"
    failed = heard_of(said("DONE"), {**OK, "exitCode": 1})
    assert (failed.closing, failed.error) == ("error", "exit code 1")


def test_who_was_stopped_by_a_signal_has_no_success() -> None:
    failure = event("model.call_failure", statusCode=401, errorMessage="no")
    heard = heard_of(failure, event("abort", reason="user_initiated"), OK)
    assert (heard.closing, heard.status) == ("error", 401)


def test_the_text_is_the_last_without_a_call() -> None:
    assert heard_of(said("a"), said("b", "bash"), OK).text == ""
    assert heard_of(said("a", "bash"), event("tool.execution_start", toolCallId="t"), said("b"), OK).text == "b"
    assert heard_of(said("a"), event("tool.execution_start", toolCallId="t"), OK).text == ""


def test_a_subagents_words_are_no_claim() -> None:
    nested = said("DONE", parentToolCallId="t1")
    assert events_of(nested) == [Said("DONE", nested=True)]
    assert heard_of(said("mine"), nested, OK).text == "mine"


def test_thoughts_and_session_are_told() -> None:
    assert events_of(event("assistant.reasoning", content="hm")) == [Said("hm", thinking=True)]
    assert events_of(OK) == [Noted("session: s-1"), Finished(ok=True)]


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500, 529])
def test_an_error_has_the_status_of_the_service(status: int) -> None:  # issue 11
    events, heard = recorded(f"copilot_err_{status}")
    assert (heard.closing, heard.status) == ("error", status)
    assert all(each.status == status for each in events if isinstance(each, Noted) and "session: " not in each.text)


def test_an_error_it_got_over_is_none() -> None:
    failure = event("model.call_failure", statusCode=500, errorMessage="no")
    assert heard_of(failure, said("x"), {**OK, "exitCode": 1}).status is None
    assert heard_of(failure, said("x"), OK).error == ""


def test_an_answer_without_a_word_is_no_error() -> None:
    heard = recorded("copilot_err_empty")[1]
    assert (heard.closing, heard.text, heard.error) == ("success", "", "")


def test_a_refused_command_is_named() -> None:  # issue 12
    heard = recorded("copilot_refused")[1]
    assert (heard.denials, heard.refused_commands) == (("bash",), ("python3 -c 'print(1)'",))


def test_what_it_calls_passing_is_not_told_and_what_is_new_is_counted() -> None:
    assert events_of({**event("session.novelty"), "ephemeral": True}) == []
    assert events_of(event("session.novelty", x=1)) == [Unparsed(size=8, kind="session.novelty")]
    assert heard_of(event("assistant.message", content=[1])).unparsed == 1
