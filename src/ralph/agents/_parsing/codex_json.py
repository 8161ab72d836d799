"""What Codex prints with `--json`: its lines, and what they amount to."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.json import Decoder

from ralph.agents._parsing.ndjson import decode_lines
from ralph.agents._parsing.run_totals import RunTotals
from ralph.agents._parsing.tools import MAX_TOOL_TEXT_CHARS, BoundedDict, build_tool_ended, describe_exit, unwrap_shell
from ralph.model.events import (
    NO_USAGE,
    AgentEvent,
    Finished,
    Noted,
    Planned,
    Said,
    Todo,
    ToolEnded,
    ToolStarted,
    Unparsed,
    Usage,
)
from ralph.model.ports import ParsedRun

_STATUS_PATTERN = re.compile(r"\bstatus:? (\d{3})\b")
_MISSING_HELPER = "Code Mode is unavailable"
_HELPER_FAILURES = ("bwrap: ", "thread 'main'")  # how the output of a command begins that was never started
_MAX_REASON_CHARS = 200


# -- the wire --------------------------------------------------------------------------------------
class _Change(Struct, frozen=True, gc=False):
    path: str = ""
    kind: Any = None


class _Step(Struct, frozen=True, gc=False):
    text: str = ""
    completed: bool = False


class _Problem(Struct, frozen=True, gc=False):
    message: str = ""


class _Item(Struct, frozen=True, kw_only=True):
    type: Literal[
        "agent_message",
        "reasoning",
        "plan",
        "command_execution",
        "file_change",
        "mcp_tool_call",
        "collab_tool_call",
        "web_search",
        "todo_list",
        "error",
    ]
    id: str = ""
    text: str = ""
    message: str = ""
    command: str = ""
    aggregated_output: str = ""
    exit_code: int | None = None
    status: str | None = None
    changes: list[_Change] = []
    server: str = ""
    tool: str = ""
    query: str = ""
    prompt: str | None = None
    items: list[_Step] = []
    error: _Problem | None = None


class _Tokens(Struct, frozen=True, gc=False, kw_only=True):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class _ThreadStarted(Struct, tag="thread.started", frozen=True, gc=False):
    thread_id: str = ""


class _TurnStarted(Struct, tag="turn.started", frozen=True, gc=False):
    pass


class _ItemStarted(Struct, tag="item.started", frozen=True):
    item: _Item


class _ItemUpdated(Struct, tag="item.updated", frozen=True):
    item: _Item


class _ItemCompleted(Struct, tag="item.completed", frozen=True):
    item: _Item


class _TurnCompleted(Struct, tag="turn.completed", frozen=True):
    usage: _Tokens | None = None


class _TurnFailed(Struct, tag="turn.failed", frozen=True):
    error: _Problem | None = None


class _Error(Struct, tag="error", frozen=True, gc=False):
    message: str = ""


_Line = (
    _ThreadStarted | _TurnStarted | _ItemStarted | _ItemUpdated | _ItemCompleted | _TurnCompleted | _TurnFailed | _Error
)
_DECODER: Decoder[_Line] = Decoder(_Line)


# -- the parser ------------------------------------------------------------------------------------
class CodexParser(RunTotals):
    """One run. Only `turn.completed` is a success."""

    def __init__(self) -> None:
        super().__init__()
        self._running = BoundedDict()
        self._helper_failure = ""  # why its first command could not even be started
        self._working_commands = 0

    def feed(self, lines: bytes | bytearray) -> Sequence[AgentEvent]:
        found: list[AgentEvent] = []
        for line in decode_lines(lines, _DECODER):
            found += self._convert_line(line)
        return found

    def summarize_run(self) -> ParsedRun:
        """What the last turn came to. A status is told in words only."""
        self._status = _find_status(self._error)
        if self._helper_failure and not self._working_commands:
            self._broken = _describe_broken(self._helper_failure)
        return super().summarize_run()

    def _convert_line(self, line: _Line | Unparsed) -> Sequence[AgentEvent]:
        match line:
            case _ThreadStarted(thread):
                return (Noted(f"thread: {thread}"),)
            case _TurnStarted():
                self._closing = "none"
                return ()
            case _ItemStarted(item):
                return self._start_item(item)
            case _ItemUpdated(item):
                return _build_plan(item) if item.type == "todo_list" else ()
            case _ItemCompleted(item):
                return self._complete_item(item)
            case _TurnCompleted(usage):
                return self._finish_turn(_to_usage(usage))
            case _TurnFailed(problem):
                return self._fail_turn(problem.message if problem else "")
            case _Error(message):
                self._error = message
                return (Noted(message, _find_status(message)),)
            case Unparsed():
                return self._count_unparsed(line)

    def _start_item(self, item: _Item) -> Sequence[AgentEvent]:
        if item.type == "todo_list":
            return _build_plan(item)
        if (named := _describe_tool(item)) is None:
            return ()
        self._running.remember(item.id)
        self._tools += 1
        self._text = ""
        name, about = named
        return (ToolStarted(id=item.id, name=name, summary=about[:MAX_TOOL_TEXT_CHARS]),)

    def _complete_item(self, item: _Item) -> Sequence[AgentEvent]:
        match item.type:
            case "agent_message" | "plan":
                self._text, self._error = item.text, ""
                return (Said(item.text),) if item.text else ()
            case "reasoning":
                return (Said(item.text, thinking=True),) if item.text else ()
            case "error":
                if _MISSING_HELPER in item.message:
                    self._helper_failure = item.message
                return (Noted(item.message),)
            case "todo_list":
                return _build_plan(item)
            case _:
                # Some tools are told only when they are over.
                before = () if item.id in self._running else self._start_item(item)
                return (*before, self._end_tool(item))

    def _end_tool(self, item: _Item) -> ToolEnded:
        self._running.pop(item.id, None)
        error = _find_failure(item)
        if error is not None:
            self._errors += 1
        if item.type == "command_execution":
            self._judge_command(item)
        if item.status == "declined":
            self._record_denial((_describe_tool(item) or ("",))[0], unwrap_shell(item.command))
        return build_tool_ended(item.id, item.aggregated_output, error)

    def _judge_command(self, item: _Item) -> None:
        """Whether it was run at all: where its sandbox cannot be set up, every command fails the same way."""
        if item.exit_code and item.aggregated_output.lstrip().startswith(_HELPER_FAILURES):
            self._helper_failure = self._helper_failure or item.aggregated_output.strip().partition("\n")[0]
        else:
            self._working_commands += 1

    def _finish_turn(self, usage: Usage) -> Sequence[AgentEvent]:
        self._closing, self._error = "success", ""
        return (self._meter.add_total(None, usage), Finished(ok=True, text=self._text, usage=usage))

    def _fail_turn(self, message: str) -> Sequence[AgentEvent]:
        self._closing, self._error = "error", message or self._error or "turn failed"
        return (Finished(ok=False, error=self._error),)


def _find_status(message: str) -> int | None:
    found = _STATUS_PATTERN.search(message)
    return int(found[1]) if found else None


def _describe_broken(why: str) -> str:
    return (
        f"Codex could not run a single command here: {why[:_MAX_REASON_CHARS].rstrip('.')}. Its sandbox or its helper"
        " programs do not work: install it as a whole (npm install -g @openai/codex), keep CODEX_HOME outside the"
        " temporary folder, or, in a container, set agent.flags to -s danger-full-access."
    )


def _describe_tool(item: _Item) -> tuple[str, str] | None:
    """A tool's name and what it is about; None for what is no tool."""
    match item.type:
        case "command_execution":
            return "Bash", unwrap_shell(item.command)
        case "file_change":
            return "Edit", ", ".join(map(_describe_change, item.changes))
        case "mcp_tool_call":
            return f"{item.server}.{item.tool}", ""
        case "collab_tool_call":
            return "Agent", item.prompt or ""
        case "web_search":
            return "WebSearch", item.query
        case _:
            return None


def _describe_change(change: _Change) -> str:
    """Codex tells no more of it than whether the file is new or gone."""
    kinds = {"add": " (new)", "delete": " (deleted)"}
    return change.path + (kinds.get(change.kind, "") if isinstance(change.kind, str) else "")


def _find_failure(item: _Item) -> str | None:
    if item.exit_code:
        return describe_exit(item.exit_code, item.aggregated_output)
    if item.status in ("failed", "declined"):
        return item.error.message if item.error else item.status
    return None


def _build_plan(item: _Item) -> Sequence[AgentEvent]:
    todos = tuple(Todo(step.text, "done" if step.completed else "pending") for step in item.items)
    return (Planned(todos),) if todos else ()


def _to_usage(usage: _Tokens | None) -> Usage:
    if usage is None:
        return NO_USAGE
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_input_tokens,
        cache_write_tokens=usage.cache_write_input_tokens,
    )
