"""opencode."""

from collections.abc import Sequence

from msgspec import Raw, Struct, field
from msgspec.json import Decoder, encode

from ralph.agents._argv import default_flag
from ralph.agents._parsing.edits import describe_edit
from ralph.agents._parsing.ndjson import decode_lines
from ralph.agents._parsing.plain import PlainParser
from ralph.agents._parsing.plan import PLAN_TOOLS as PLAN_TOOLS
from ralph.agents._parsing.plan import Plan
from ralph.agents._parsing.run_totals import RunTotals
from ralph.agents._parsing.tools import build_tool_ended, describe_exit, read_command, summarize_input
from ralph.agents._permissions import READING_COMMANDS, choose_flags, grant_judge, list_simple_commands, user_decides
from ralph.model.agent_card import AgentCard, EndpointConfig, Grant
from ralph.model.command import Invocation
from ralph.model.events import AgentEvent, Finished, Noted, Said, ToolStarted, Unparsed, Usage
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode

CARD = AgentCard(
    title="opencode",
    install="npm install -g opencode-ai",
    detect_order=5,
    docker_template="opencode",
    instructions=("opencode.json", "opencode.jsonc", ".opencode.json", ".opencode/"),
    env_keys=frozenset(
        {
            *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENCODE_API_KEY"),
            *("XAI_API_KEY", "PERPLEXITY_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY"),
            *("DEEPSEEK_API_KEY", "DASHSCOPE_API_KEY", "ZAI_API_KEY", "MINIMAX_API_KEY", "MODELSCOPE_API_KEY"),
        }
    ),
    home_paths=(".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"),
    login_files=(".local/share/opencode/auth.json",),
    config_folders=tuple(f".config/opencode/{name}" for name in ("agent", "command", "plugin", "skill")),
    permission_flags=("--auto",),
    can_judge=True,
    judge_environment={"OPENCODE_PERMISSION": '{"*":"deny"}', "OPENCODE_DISABLE_PROJECT_CONFIG": "1"},
    cost=True,
    tokens=True,
    session=True,
    verified="1.18.33, with the scripted model",
)


_DENIED = "The user has specified a rule which prevents"  # and it goes on
_REJECTED = "The user rejected permission"  # a question that nobody answered: its run ends with this step


class Opencode(Struct, frozen=True):
    """Reads the prompt on stdin: as an argument it would come out quoted anew."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    grant: Grant
    reports_cost = True

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        argv = [*self.command, "run"]
        if mode == "stream":
            argv += default_flag(self.flags, "--format", "json")
        argv += [*self.grant.argv, *self.flags]
        return Invocation(argv=tuple(argv), stdin=prompt, environment=self.grant.environment)

    def parser(self, mode: OutputMode) -> LineParser:
        return OpencodeParser() if mode == "stream" else PlainParser()


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings."""
    return Opencode(options.command, choose_flags(options, CARD), grant_permissions(options))


def grant_permissions(options: AgentOptions) -> Grant:
    """Rules in a variable, which come on top of its configuration. Without --auto a question would end the run, so
    no rule is left that asks."""
    if options.judges:
        return grant_judge(CARD, options)
    if user_decides(options, CARD):
        return Grant()
    if options.permissions in (None, "all"):
        return Grant(argv=("--auto",))
    allowed = _list_globs(options.allow) if options.permissions == "checks" else ()
    # The last rule that matches decides, so what is denied stands first.
    bash: object = {"*": "deny", **dict.fromkeys(allowed, "allow")} if allowed else "deny"
    folders = {"*": "deny", **{f"{folder.rstrip('/')}/*": "allow" for folder in options.folders}}
    rules = {"edit": "allow", "bash": bash, "external_directory": folders, "doom_loop": "allow"}
    return Grant(environment={"OPENCODE_PERMISSION": encode(rules).decode()}, can_commit=bool(allowed))


def _list_globs(allow: tuple[str, ...]) -> tuple[str, ...]:
    commands = [command.removesuffix(" *") for command in list_simple_commands(allow)]
    # Every part of a line is looked at, so what its output is piped to is allowed as well.
    return tuple(glob for each in (*commands, *(READING_COMMANDS if commands else ())) for glob in (each, f"{each} *"))


def configure_endpoint(url: str, home: str) -> EndpointConfig:
    """A provider of its own, with prices, in a variable."""
    config = f"""\
{{
  "model": "scripted/scripted", "autoupdate": false, "share": "disabled",
  "provider": {{
    "scripted": {{
      "npm": "@ai-sdk/openai-compatible", "name": "scripted",
      "options": {{"baseURL": "{url}/v1", "apiKey": "scripted"}},
      "models": {{"scripted": {{"name": "scripted", "cost": {{"input": 1000, "output": 5000}}}}}}
    }}
  }}
}}
"""
    return EndpointConfig({"OPENCODE_CONFIG_CONTENT": config, "OPENCODE_DISABLE_AUTOUPDATE": "1"}, ("--auto",))


# -- the wire --------------------------------------------------------------------------------------
class _Metadata(Struct, frozen=True, gc=False):
    exit: int | None = None


class _State(Struct, frozen=True, kw_only=True):
    status: str = ""
    input: Raw = Raw(b"null")
    output: str = ""
    error: str | None = None
    metadata: _Metadata | None = None


class _Cache(Struct, frozen=True, gc=False):
    read: int = 0
    write: int = 0


class _Tokens(Struct, frozen=True):
    input: int = 0
    output: int = 0
    cache: _Cache = _Cache()


class _TextPart(Struct, frozen=True, gc=False):
    text: str = ""


class _ToolPart(Struct, frozen=True):
    call: str = field(default="", name="callID")
    tool: str = ""
    state: _State = _State()


class _FinishPart(Struct, frozen=True):
    reason: str = ""
    cost: float | None = None
    tokens: _Tokens = _Tokens()


class _Data(Struct, frozen=True, gc=False):
    message: str = ""
    status: int | None = field(default=None, name="statusCode")


class _Problem(Struct, frozen=True):
    name: str = ""
    data: _Data | None = None


class _StepStart(Struct, tag="step_start", frozen=True, gc=False):
    session: str = field(default="", name="sessionID")


class _Text(Struct, tag="text", frozen=True):
    part: _TextPart


class _Reasoning(Struct, tag="reasoning", frozen=True):
    part: _TextPart


class _ToolUse(Struct, tag="tool_use", frozen=True):
    part: _ToolPart


class _StepFinish(Struct, tag="step_finish", frozen=True):
    part: _FinishPart


class _Error(Struct, tag="error", frozen=True):
    error: _Problem


_Line = _StepStart | _Text | _Reasoning | _ToolUse | _StepFinish | _Error
_DECODER: Decoder[_Line] = Decoder(_Line)


# -- the parser ------------------------------------------------------------------------------------
class OpencodeParser(RunTotals):
    """One run. It has no result event: the end is a step that finished with "stop"."""

    def __init__(self) -> None:
        super().__init__()
        self._plan = Plan()
        self._steps = 0
        self._is_rejected = False
        self._answered = False  # the text so far is an answer that was closed

    def feed(self, lines: bytes | bytearray) -> Sequence[AgentEvent]:
        found: list[AgentEvent] = []
        for line in decode_lines(lines, _DECODER):
            found += self._convert_line(line)
        return found

    def _convert_line(self, line: _Line | Unparsed) -> Sequence[AgentEvent]:
        match line:
            case _StepStart(session):
                self._steps += 1
                self._answered = self._closing != "none"
                self._closing, self._error, self._status = "none", "", None
                self._is_rejected = False
                return (Noted(f"session: {session}"),) if session and self._steps == 1 else ()
            case _Text(part):
                self._add_text(part.text)
                return (Said(part.text),) if part.text else ()
            case _Reasoning(part):
                return (Said(part.text, thinking=True),) if part.text else ()
            case _ToolUse(part):
                return self._convert_tool_use(part)
            case _StepFinish(part):
                return self._finish_step(part)
            case _Error(problem):
                return self._fail_run(problem)
            case Unparsed():
                return self._count_unparsed(line)

    def _add_text(self, text: str) -> None:
        """An answer comes in parts, each a paragraph of it."""
        if text:
            self._text = text if self._answered or not self._text else f"{self._text}\n{text}"
            self._answered = False

    def _convert_tool_use(self, part: _ToolPart) -> Sequence[AgentEvent]:
        """A tool is told once, when it is over."""
        self._text = ""
        if part.tool in PLAN_TOOLS:
            planned = self._plan.apply_call(part.tool, part.state.input)
            return (planned,) if planned else ()
        error = _find_failure(part.state)
        self._tools += 1
        self._errors += error is not None
        if part.state.status == "error" and (part.state.error or "").startswith((_DENIED, _REJECTED)):
            self._record_denial(part.tool, read_command(part.state.input))
            self._is_rejected = (part.state.error or "").startswith(_REJECTED)
        return (
            ToolStarted(
                id=part.call,
                name=part.tool,
                summary=summarize_input(part.tool, part.state.input),
                edit=describe_edit(part.tool, part.state.input),
            ),
            build_tool_ended(part.call, part.state.output, error),
        )

    def _finish_step(self, part: _FinishPart) -> Sequence[AgentEvent]:
        tokens = part.tokens
        spent = self._meter.add_step(
            part.cost,
            Usage(
                input_tokens=tokens.input,
                output_tokens=tokens.output,
                cache_read_tokens=tokens.cache.read,
                cache_write_tokens=tokens.cache.write,
            ),
        )
        if part.reason in ("tool-calls", "unknown") and not self._is_rejected:
            return (spent,)
        ok = part.reason == "stop" or self._is_rejected
        self._closing = "success" if ok else "error"
        self._cut_short = part.reason == "length"
        self._error = "" if ok else f"the answer ended early: {part.reason}"
        return (spent, self._build_finished())

    def _fail_run(self, problem: _Problem) -> Sequence[AgentEvent]:
        data = problem.data or _Data()
        self._closing, self._status = "error", data.status
        self._error = data.message or problem.name or "failed"
        return (self._build_finished(),)

    def _build_finished(self) -> Finished:
        ok = self._closing == "success"
        return Finished(
            ok=ok,
            text=self._text if ok else "",
            error=self._error,
            cost_usd=self._meter.cost_usd,
            usage=self._meter.usage,
            turns=self._steps,
        )


def _find_failure(state: _State) -> str | None:
    if state.status == "error":
        return state.error or state.output or "failed"
    if state.metadata is not None and state.metadata.exit:
        return describe_exit(state.metadata.exit, state.output)
    return None
