"""Google's Gemini CLI."""

from collections.abc import Sequence

from msgspec import Raw, Struct
from msgspec.json import Decoder, encode

from ralph.agents._argv import default_flag, has_flag, is_option_value
from ralph.agents._parsing.edits import describe_edit
from ralph.agents._parsing.ndjson import decode_lines
from ralph.agents._parsing.plain import PlainParser
from ralph.agents._parsing.plan import PLAN_TOOLS as PLAN_TOOLS
from ralph.agents._parsing.plan import Plan
from ralph.agents._parsing.run_totals import RunTotals
from ralph.agents._parsing.tools import BoundedDict, build_tool_ended, read_command, summarize_input
from ralph.agents._permissions import (
    READING_COMMANDS,
    add_folders,
    choose_flags,
    grant_judge,
    select_prefixes,
    user_decides,
)
from ralph.model.agent_card import AgentCard, EndpointConfig, Grant
from ralph.model.command import Invocation
from ralph.model.events import NO_USAGE, AgentEvent, Finished, Noted, Said, ToolStarted, Unparsed, Usage
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode, ParsedRun

_POLICY_FILE = "{policy.toml}"

CARD = AgentCard(
    title="Gemini CLI",
    install="npm install -g @google/gemini-cli",
    detect_order=4,
    docker_template="gemini",
    instructions=("GEMINI.md", ".gemini/"),
    provider="gcp.gemini",
    env_keys=frozenset({"GEMINI_API_KEY", "GOOGLE_API_KEY"}),
    hosts=("generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"),
    home_paths=(".gemini",),
    login_files=(".gemini/oauth_creds.json",),
    config_folders=(".gemini/commands", ".gemini/extensions"),
    folder_flag="--include-directories",
    # It refuses two opinions on approval.
    permission_flags=("-y", "--yolo", "--approval-mode", "--allowed-tools", "--policy"),
    can_judge=True,
    small_model="flash",
    judge_flags=("--policy", _POLICY_FILE),
    judge_files={_POLICY_FILE: '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'},
    tokens=True,
    counts_cached_input=True,
    session=True,
    verified="0.61.0, with the scripted model",
)
_FORMATS: dict[OutputMode, str] = {"stream": "stream-json", "text": "text"}
MAX_KEPT_TEXT_CHARS = 1 << 20  # characters of one text, the last ones
_REFUSED = "policy_violation"
_EMPTY_RESPONSE = "returned an empty response"  # it tells as an error what for others is a success without a word


class Gemini(Struct, frozen=True):
    """Takes the prompt with `-p`; a long one on stdin, without it."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    grant: Grant
    reports_cost = False

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        """`gemini [flags…] -p <prompt>`."""
        argv = [*self.command, *self.flags]
        if not has_flag(self.flags, "-o"):
            argv += default_flag(self.flags, "--output-format", _FORMATS[mode])
        argv += [*self.grant.argv, *default_flag(self.flags, "--skip-trust")]
        if is_option_value(prompt):
            return Invocation(argv=(*argv, "-p", prompt), files=self.grant.files)
        return Invocation(argv=tuple(argv), stdin=prompt, files=self.grant.files)

    def parser(self, mode: OutputMode) -> LineParser:
        return GeminiParser() if mode == "stream" else PlainParser()


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings."""
    return Gemini(options.command, choose_flags(options, CARD), grant_permissions(options))


def grant_permissions(options: AgentOptions) -> Grant:
    """A policy in a file: without one, a command that would need a question is not even offered to its model."""
    if options.judges:
        return grant_judge(CARD, options)
    folders = add_folders(options, CARD)
    if user_decides(options, CARD):
        return Grant(argv=folders)
    if options.permissions in (None, "all"):
        return Grant(argv=("--yolo", *folders))
    edits = ("--approval-mode", "auto_edit", *folders)
    prefixes, limits = select_prefixes(CARD.title, options) if options.permissions == "checks" else ((), ())
    if not prefixes:
        return Grant(argv=edits, limits=limits, can_commit=False)
    return Grant(argv=(*edits, "--policy", _POLICY_FILE), files={_POLICY_FILE: _write_policy(prefixes)}, limits=limits)


def _write_policy(prefixes: tuple[str, ...]) -> str:
    # Every part of a line is looked at, so what its output is piped to is allowed as well.
    commands = encode((*prefixes, *READING_COMMANDS)).decode()
    return f"""\
[[rule]]
toolName = "run_shell_command"
commandPrefix = {commands}
decision = "allow"
priority = 500
allowRedirection = true
"""


def configure_endpoint(url: str, home: str) -> EndpointConfig:
    """An address and a key; its settings must say that a key is what it logs in with."""
    settings = """\
{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 2},
  "privacy": {"usageStatisticsEnabled": false}
}
"""
    return EndpointConfig(
        {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "scripted"},
        ("-m", "gemini-2.5-pro", "--yolo"),
        {".gemini/settings.json": settings},
    )


# -- the wire --------------------------------------------------------------------------------------
class _Problem(Struct, frozen=True, gc=False):
    type: str = ""
    message: str = ""


class _Stats(Struct, frozen=True, gc=False, kw_only=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cached: int = 0
    duration_ms: float = 0.0


class _Init(Struct, tag="init", frozen=True, gc=False):
    session_id: str = ""


class _Message(Struct, tag="message", frozen=True, gc=False):
    role: str = ""
    content: str = ""
    delta: bool = False


class _ToolUse(Struct, tag="tool_use", frozen=True, gc=False):
    tool_id: str = ""
    tool_name: str = ""
    parameters: Raw = Raw(b"null")


class _ToolResult(Struct, tag="tool_result", frozen=True, kw_only=True):
    tool_id: str = ""
    status: str = ""
    output: str | None = None
    error: _Problem | None = None


class _Error(Struct, tag="error", frozen=True, gc=False):
    message: str = ""


class _Result(Struct, tag="result", frozen=True):
    status: str = ""
    error: _Problem | None = None
    stats: _Stats | None = None


_Line = _Init | _Message | _ToolUse | _ToolResult | _Error | _Result
_DECODER: Decoder[_Line] = Decoder(_Line)


# -- the parser ------------------------------------------------------------------------------------
class GeminiParser(RunTotals):
    """One run. Text comes in pieces and is told when it is whole."""

    def __init__(self) -> None:
        super().__init__()
        self._plan = Plan()
        self._planning = BoundedDict()
        self._running = BoundedDict()  # the tool's name and, in the next line, its command
        self._pieces: list[str] = []  # of the text so far
        self._is_flushed = True
        self._size = 0

    def feed(self, lines: bytes | bytearray) -> Sequence[AgentEvent]:
        found: list[AgentEvent] = []
        for line in decode_lines(lines, _DECODER):
            if isinstance(line, _Message):
                found += self._handle_message(line)
            else:
                found += self._flush_text()
                found += self._convert_line(line)
        return found

    def summarize_run(self) -> ParsedRun:
        """What its result says, and the last text."""
        self._text = self._join_text()
        return super().summarize_run()

    def _handle_message(self, line: _Message) -> Sequence[AgentEvent]:
        if line.role != "assistant" or not line.content:
            return ()
        if line.delta:
            self._add_piece(line.content)
            return ()
        # Without the mark a message is whole, or repeats the one before it and goes on.
        before = () if line.content.startswith(self._join_text()) else self._flush_text()
        self._clear_text()
        self._add_piece(line.content)
        return before

    def _add_piece(self, piece: str) -> None:
        self._pieces.append(piece)
        self._is_flushed = False
        self._size += len(piece)
        if self._size > 2 * MAX_KEPT_TEXT_CHARS:
            end = self._join_text()[-MAX_KEPT_TEXT_CHARS:]
            self._pieces, self._size = [end], len(end)

    def _clear_text(self) -> None:
        self._pieces, self._size = [], 0

    def _join_text(self) -> str:
        return "".join(self._pieces)

    def _flush_text(self) -> Sequence[AgentEvent]:
        told, self._is_flushed = self._is_flushed, True
        return () if told else (Said(self._join_text()),)

    def _convert_line(self, line: _Init | _ToolUse | _ToolResult | _Error | _Result | Unparsed) -> Sequence[AgentEvent]:
        match line:
            case _Init(session):
                return (Noted(f"session: {session}"),)
            case _ToolUse():
                return self._start_tool(line)
            case _ToolResult():
                return self._end_tool(line)
            case _Error(message):
                self._error = message
                return (Noted(message),)
            case _Result():
                return self._finish_run(line)
            case Unparsed():
                return self._count_unparsed(line)

    def _start_tool(self, line: _ToolUse) -> Sequence[AgentEvent]:
        self._clear_text()
        if line.tool_name in PLAN_TOOLS:
            self._planning.remember(line.tool_id)
            planned = self._plan.apply_call(line.tool_name, line.parameters)
            return (planned,) if planned else ()
        self._tools += 1
        self._running.remember(line.tool_id, f"{line.tool_name}\n{read_command(line.parameters)}")
        return (
            ToolStarted(
                id=line.tool_id,
                name=line.tool_name,
                summary=summarize_input(line.tool_name, line.parameters),
                edit=describe_edit(line.tool_name, line.parameters),
            ),
        )

    def _end_tool(self, line: _ToolResult) -> Sequence[AgentEvent]:
        if line.tool_id in self._planning:
            return ()
        output = line.output or ""
        if line.status != "error":
            return (build_tool_ended(line.tool_id, output),)
        self._errors += 1
        if line.error is not None and line.error.type == _REFUSED:
            name, _, command = self._running.get(line.tool_id, "").partition("\n")
            self._record_denial(name, command)
        return (build_tool_ended(line.tool_id, output, line.error.message if line.error else output or "failed"),)

    def _finish_run(self, line: _Result) -> Sequence[AgentEvent]:
        problem = line.error or _Problem(message=self._error or "failed")
        ok = line.status == "success" or _EMPTY_RESPONSE in problem.message
        stats = line.stats or _Stats()
        usage = (
            Usage(input_tokens=stats.input_tokens, output_tokens=stats.output_tokens, cache_read_tokens=stats.cached)
            if line.stats
            else NO_USAGE
        )
        self._closing = "success" if ok else "error"
        self._error = "" if ok else problem.message
        self._cut_short = not ok and "TurnLimit" in problem.type
        return (
            self._meter.add_total(None, usage),
            Finished(
                ok=ok,
                text=self._join_text() if ok else "",
                error=self._error,
                usage=usage,
                seconds=stats.duration_ms / 1000,
            ),
        )
