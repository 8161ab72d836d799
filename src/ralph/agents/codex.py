"""OpenAI Codex: called by version, understood by its `--json` lines."""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from ralph.agents._account import RunTotals
from ralph.agents._argv import default_flag
from ralph.agents._ndjson import decode_lines
from ralph.agents._permissions import add_folders, choose_flags, find_missing_options, user_decides
from ralph.agents._plain import PlainParser
from ralph.agents._recent import BoundedDict
from ralph.agents._tools import MAX_TOOL_TEXT_CHARS, build_tool_ended, describe_exit
from ralph.model.agent_card import AgentCard, EndpointConfig, Grant
from ralph.model.command import ANSWER_FILE, PROMPT_FILE, Invocation
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
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode, ParsedRun

CARD = AgentCard(
    title="Codex",
    install="npm install -g @openai/codex",
    detect_order=2,
    env_keys=frozenset({"OPENAI_API_KEY", "CODEX_API_KEY"}),
    home_paths=(".codex",),
    folder_flag="--add-dir",
    permission_flags=(
        "-s",
        "--sandbox",
        "--dangerously-bypass-approvals-and-sandbox",
        "--yolo",
        "--full-auto",
        "sandbox_mode",
    ),
    can_commit=False,
    tokens=True,
    session=True,
    verified="0.166.0, with the scripted model",
)
VERSION_ARGV = ("--version",)
# 0.126 made --full-auto do nothing, 0.147 refuses it (openai/codex#20133).
FIRST_VERSION_WITHOUT_FULL_AUTO = (0, 126)
_VERSION_PATTERN = re.compile(r"(\d+)\.(\d+)")
_STATUS_PATTERN = re.compile(r"\bstatus:? (\d{3})\b")
_MISSING_HELPER = "Code Mode is unavailable"
_HELPER_FAILURES = ("bwrap: ", "thread 'main'")  # how the output of a command begins that was never started
_MAX_REASON_CHARS = 200
_FREE_COMMANDS = "Codex cannot allow single commands: it may run any command inside its own sandbox."


class Codex(Struct, frozen=True):
    """Today's: the prompt on stdin, as free to write the workspace as --full-auto was."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    grant: Grant
    reports_cost = False

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        argv = [*self.command, "exec"]
        argv += default_flag(self.flags, "--json") if mode == "stream" else ("-o", ANSWER_FILE)
        argv += default_flag(self.flags, "--skip-git-repo-check")
        return Invocation(argv=(*argv, *self.grant.argv, *self.flags, "-"), stdin=prompt)

    def parser(self, mode: OutputMode) -> LineParser:
        return CodexParser() if mode == "stream" else PlainParser()


class OldCodex(Codex, frozen=True):
    """Before the flag was dropped: the prompt in a file, as first specified."""

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        """`codex e --json --full-auto <file>`."""
        if mode == "stream":
            return Invocation(argv=(*self.command, "e", "--json", *self.grant.argv, *self.flags, PROMPT_FILE))
        return Invocation(argv=(*self.command, "e", *self.grant.argv, "-o", ANSWER_FILE, *self.flags, PROMPT_FILE))


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings and this version; a version we cannot read is a new one."""
    agent = OldCodex if _is_old(options.version) else Codex
    return agent(options.command, choose_flags(options, CARD), grant_permissions(options))


def grant_permissions(options: AgentOptions) -> Grant:
    """It has a sandbox and no list of commands: whatever writes only where it may is run."""
    old = _is_old(options.version)
    folders = () if old else add_folders(options, CARD)
    missing = find_missing_options(options, replace(CARD, folder_flag="") if old else CARD)
    if user_decides(options, CARD):
        return Grant(argv=folders, limits=missing)
    if options.permissions == "all":
        return Grant(argv=("--dangerously-bypass-approvals-and-sandbox", *folders), limits=missing)
    sandbox = ("--full-auto",) if old else ("-s", "workspace-write")
    limits = missing if options.permissions is None else (_FREE_COMMANDS, *missing)
    return Grant(argv=(*sandbox, *folders), limits=limits)


def _is_old(printed: str) -> bool:
    version = _VERSION_PATTERN.search(printed)
    return version is not None and (int(version[1]), int(version[2])) < FIRST_VERSION_WITHOUT_FULL_AUTO


def configure_endpoint(url: str, home: str) -> EndpointConfig:
    """A provider of its own in its config; without plugins and analytics it asks no one else."""
    config = f"""\
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 1
stream_max_retries = 1

[features]
plugins = false

[analytics]
enabled = false

[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
"""
    return EndpointConfig(
        {"CODEX_HOME": f"{home}/.codex", "SCRIPTED_KEY": "scripted"}, files={".codex/config.toml": config}
    )


# -- the wire --------------------------------------------------------------------------------------
class _Change(Struct, frozen=True, gc=False):
    path: str = ""


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
            self._record_denial((_describe_tool(item) or ("",))[0], item.command)
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
            return "Bash", item.command
        case "file_change":
            return "Edit", ", ".join(change.path for change in item.changes)
        case "mcp_tool_call":
            return f"{item.server}.{item.tool}", ""
        case "collab_tool_call":
            return "Agent", item.prompt or ""
        case "web_search":
            return "WebSearch", item.query
        case _:
            return None


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
