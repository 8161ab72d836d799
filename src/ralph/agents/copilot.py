"""GitHub Copilot CLI."""

from collections.abc import Sequence

from msgspec import Raw, Struct
from msgspec.json import Decoder

from ralph.agents._argv import default_flag, has_flag
from ralph.agents._parsing.edits import describe_edit
from ralph.agents._parsing.ndjson import decode_line, decode_lines
from ralph.agents._parsing.plain import PlainParser
from ralph.agents._parsing.run_totals import RunTotals
from ralph.agents._parsing.tools import BoundedDict, build_tool_ended, describe_exit, read_command, summarize_input
from ralph.agents._permissions import add_folders, choose_flags, grant_judge, list_simple_commands, user_decides
from ralph.model.agent_card import AgentCard, EndpointConfig, Grant
from ralph.model.command import Invocation
from ralph.model.events import AgentEvent, Finished, Noted, Said, ToolStarted, Unparsed
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode

CARD = AgentCard(
    title="GitHub Copilot CLI",
    install="npm install -g @github/copilot",
    detect_order=7,
    docker_template="copilot",
    instructions=(
        ".copilot/",
        ".github/copilot-instructions.md",
        ".github/instructions/",
        ".github/prompts/",
        ".github/agents/",
    ),
    provider="github",
    # It takes GH_TOKEN and GITHUB_TOKEN, too. Those are git's and gh's as well, so they are kept from nobody.
    env_keys=frozenset({"COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN"}),
    hosts=("api.github.com", "github.com", "api.githubcopilot.com", "api.individual.githubcopilot.com"),
    home_paths=(".copilot", ".cache/copilot", ".config/gh"),
    model_aliases=(),
    folder_flag="--add-dir",
    permission_flags=(
        *("--allow-all-tools", "--allow-all", "--yolo", "--allow-all-paths", "--allow-all-urls"),
        *("--allow-tool", "--deny-tool", "--available-tools", "--excluded-tools"),
    ),
    can_judge=True,
    small_model="claude-haiku-5.5",
    judge_flags=("--available-tools=none", "--no-custom-instructions"),
    session=True,
    verified="1.0.102, with the scripted model",
)
# A rule names the command's first word, and of these the first two.
_TWO_WORD_PROGRAMS = frozenset({"git", "gh", "npm"})
_EMPTY_RESPONSE = "No response was returned"  # an error to it, a success without a word to others
_REFUSED = "denied"
_MAX_KIND_CHARS = 60
# What comes besides that a watcher need not see. Whatever it calls ephemeral itself is not told either.
_SILENT_EVENTS = frozenset(
    {
        *("session.skills_loaded", "session.start", "session.resume", "session.shutdown", "session.usage_info"),
        *("session.model_change", "session.context_changed", "session.compaction_start", "session.compaction_complete"),
        *("user.message", "system.message", "assistant.turn_start", "assistant.turn_end", "assistant.intent"),
        *("hook.start", "hook.end", "skill.invoked", "subagent.started", "subagent.completed"),
    }
)


class Copilot(Struct, frozen=True):
    """Reads the prompt on stdin, which has no limit."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    grant: Grant
    reports_cost = False

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        argv = [*self.command, *self.flags, *self.grant.argv]
        if mode == "stream":
            argv += default_flag(self.flags, "--output-format", "json")
        elif not has_flag(self.flags, "-s"):
            argv += default_flag(self.flags, "--silent")  # its words only, no statistics
        return Invocation(argv=(*argv, *default_flag(self.flags, "--no-color")), stdin=prompt)

    def parser(self, mode: OutputMode) -> LineParser:
        return CopilotParser() if mode == "stream" else PlainParser()


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings."""
    return Copilot(options.command, choose_flags(options, CARD), grant_permissions(options))


def grant_permissions(options: AgentOptions) -> Grant:
    """Its rules know programs, not commands."""
    if options.judges:
        return grant_judge(CARD, options)
    folders = add_folders(options, CARD)
    if user_decides(options, CARD):
        return Grant(argv=folders)
    if options.permissions is None:
        return Grant(argv=("--allow-all-tools", *folders))
    if options.permissions == "all":
        return Grant(argv=("--allow-all", *folders))
    commands = list_simple_commands(options.allow) if options.permissions == "checks" else ()
    programs = {command: _find_program_words(command) for command in commands}
    rules = dict.fromkeys(f"--allow-tool=shell({program})" for program in programs.values())
    wider = (
        f"{CARD.title} cannot allow `{command}` alone: it may run every `{program}` command."
        for command, program in programs.items()
        if command.removesuffix(" *") != program
    )
    return Grant(argv=("--allow-tool=write", *rules, *folders), limits=tuple(wider), can_commit=bool(rules))


def configure_endpoint(url: str, home: str) -> EndpointConfig:
    """A provider of one's own; offline, so that it asks GitHub nothing."""
    return EndpointConfig(
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "scripted",
            "COPILOT_MODEL": "scripted",
        },
        ("--allow-all-tools",),
    )


def _find_program_words(command: str) -> str:
    words = command.split()
    return " ".join(words[: 2 if words[0] in _TWO_WORD_PROGRAMS and words[1:2] != ["*"] else 1])


# -- the wire: what an event is about stays raw until its type is known ------------------------------
class _Line(Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    type: str
    data: Raw = Raw(b"{}")
    ephemeral: bool = False
    session_id: str = ""  # of `result`, as what follows
    exit_code: int | None = None


class _Message(Struct, frozen=True, rename="camel"):
    content: str = ""
    tool_requests: list[object] = []
    parent_tool_call_id: str | None = None


class _Reasoning(Struct, frozen=True, gc=False):
    content: str = ""


class _ToolStart(Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    tool_call_id: str = ""
    tool_name: str = ""
    arguments: Raw = Raw(b"null")
    parent_tool_call_id: str | None = None


class _Problem(Struct, frozen=True, gc=False):
    message: str = ""
    code: str = ""


class _Output(Struct, frozen=True, gc=False):
    content: str = ""


class _Shell(Struct, frozen=True, gc=False, rename="camel"):
    exit_code: int | None = None


class _ToolEnd(Struct, frozen=True, rename="camel", kw_only=True):
    tool_call_id: str = ""
    success: bool = True
    result: _Output | None = None
    error: _Problem | None = None
    shell_execution: _Shell | None = None
    parent_tool_call_id: str | None = None


class _Failure(Struct, frozen=True, gc=False, rename="camel"):
    """Of one request, or of the whole run."""

    message: str = ""
    error_message: str = ""
    status_code: int | None = None


_DECODER = Decoder(_Line)
_MESSAGE_DECODER, _REASONING_DECODER = Decoder(_Message), Decoder(_Reasoning)
_TOOL_START_DECODER, _TOOL_END_DECODER = Decoder(_ToolStart), Decoder(_ToolEnd)
_FAILURE_DECODER = Decoder(_Failure)


# -- the parser ------------------------------------------------------------------------------------
class CopilotParser(RunTotals):
    """One run. Only a `result` with exit code 0 is a success: stopped by a signal it exits with 0, often with none."""

    def __init__(self) -> None:
        super().__init__()
        self._is_aborted = False  # by a signal; the exit code of its result may then be 0
        self._running = BoundedDict()  # the tool's name and, in the next line, its command

    def feed(self, lines: bytes | bytearray) -> Sequence[AgentEvent]:
        found: list[AgentEvent] = []
        for line in decode_lines(lines, _DECODER):
            found += self._count_unparsed(line) if isinstance(line, Unparsed) else self._convert_line(line)
        return found

    def _convert_line(self, line: _Line) -> Sequence[AgentEvent]:
        match line.type:
            case "assistant.message":
                return self._say(line.data)
            case "assistant.reasoning":
                return self._think(line.data)
            case "tool.execution_start":
                return self._start_tool(line.data)
            case "tool.execution_complete":
                return self._end_tool(line.data)
            case "model.call_failure" | "session.error":
                return self._note_failure(line.data)
            case "abort":
                self._is_aborted = True
                return ()
            case "result":
                return self._finish_run(line)
            case _ if line.ephemeral or line.type in _SILENT_EVENTS:
                return ()
            case _:
                return self._count_unparsed(Unparsed(size=len(memoryview(line.data)), kind=line.type[:_MAX_KIND_CHARS]))

    def _say(self, data: Raw) -> Sequence[AgentEvent]:
        message = decode_line(data, _MESSAGE_DECODER)
        if isinstance(message, Unparsed):
            return self._count_unparsed(message)
        self._error, self._status = "", None
        nested = message.parent_tool_call_id is not None
        if not nested:
            self._text = "" if message.tool_requests else message.content
        return (Said(message.content, nested=nested),) if message.content else ()

    def _think(self, data: Raw) -> Sequence[AgentEvent]:
        thought = decode_line(data, _REASONING_DECODER)
        if isinstance(thought, Unparsed):
            return self._count_unparsed(thought)
        return (Said(thought.content, thinking=True),) if thought.content else ()

    def _start_tool(self, data: Raw) -> Sequence[AgentEvent]:
        tool = decode_line(data, _TOOL_START_DECODER)
        if isinstance(tool, Unparsed):
            return self._count_unparsed(tool)
        nested = tool.parent_tool_call_id is not None
        if not nested:
            self._text = ""
        self._tools += 1
        self._running.remember(tool.tool_call_id, f"{tool.tool_name}\n{read_command(tool.arguments)}")
        about = summarize_input(tool.tool_name, tool.arguments)
        edit = describe_edit(tool.tool_name, tool.arguments)
        return (ToolStarted(id=tool.tool_call_id, name=tool.tool_name, summary=about, nested=nested, edit=edit),)

    def _end_tool(self, data: Raw) -> Sequence[AgentEvent]:
        tool = decode_line(data, _TOOL_END_DECODER)
        if isinstance(tool, Unparsed):
            return self._count_unparsed(tool)
        name, _, command = self._running.pop(tool.tool_call_id, "").partition("\n")
        if tool.error is not None and tool.error.code == _REFUSED:
            self._record_denial(name, command)
        output = tool.result.content if tool.result else ""
        error = _find_failure(tool, output)
        self._errors += error is not None
        return (build_tool_ended(tool.tool_call_id, output, error, tool.parent_tool_call_id is not None),)

    def _note_failure(self, data: Raw) -> Sequence[AgentEvent]:
        """Of a request, which is tried again, or of the run, whose words are the better ones."""
        failure = decode_line(data, _FAILURE_DECODER)
        if isinstance(failure, Unparsed):
            return self._count_unparsed(failure)
        self._error, self._status = failure.message or failure.error_message, failure.status_code
        return (Noted(self._error, failure.status_code),)

    def _finish_run(self, line: _Line) -> Sequence[AgentEvent]:
        ok = (line.exit_code == 0 and not self._is_aborted) or self._error.startswith(_EMPTY_RESPONSE)
        self._closing = "success" if ok else "error"
        self._error = "" if ok else self._error or f"exit code {line.exit_code}"
        return (
            *((Noted(f"session: {line.session_id}"),) if line.session_id else ()),
            Finished(ok=ok, text=self._text if ok else "", error=self._error),
        )


def _find_failure(tool: _ToolEnd, output: str) -> str | None:
    if not tool.success:
        return (tool.error.message if tool.error else "") or output or "failed"
    if tool.shell_execution is not None and tool.shell_execution.exit_code:
        return describe_exit(tool.shell_execution.exit_code, output)
    return None
