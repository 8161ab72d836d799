"""Claude's stream-json, which Amp, Qwen and our scripted agent print too."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ralph.agents._parsing.edits import describe_edit
from ralph.agents._parsing.meter import Meter, StreamedUsage
from ralph.agents._parsing.plan import PLAN_TOOLS as PLAN_TOOLS
from ralph.agents._parsing.plan import WHOLE_PLAN_TOOLS as WHOLE_PLANS
from ralph.agents._parsing.plan import Plan
from ralph.agents._parsing.stream_json_lines import (
    AssistantLine,
    ContentBlock,
    LeanAssistant,
    LeanUser,
    Line,
    PartialLine,
    PermissionDenial,
    RateLimitLine,
    ResultLine,
    SystemLine,
    TextBlock,
    ToolProgressLine,
    ToolUseBlock,
    UserLine,
    WireUsage,
    decode_stream,
    describe_delay,
    join_parts,
    read_tool_error,
    read_usage,
)
from ralph.agents._parsing.tools import BoundedDict, build_tool_ended, read_command, summarize_input
from ralph.model.events import (
    NO_USAGE,
    AgentEvent,
    FileEdit,
    Finished,
    Noted,
    Said,
    ToolEnded,
    ToolStarted,
    Unparsed,
    Usage,
)
from ralph.model.ports import ParsedRun

# The last two: a command Claude cannot look through, such as one with a variable in it.
_PERMISSION_PATTERN = re.compile(r"permission|approv|granted|can't be checked|Contains \w+_", re.IGNORECASE)
_STATUS_PATTERN = re.compile(r"API Error: (\d{3})\b")
_GUARD_PREFIX = "ralph's guard: "  # as our hook begins
_STOP_HOOK_PREFIX = "Stop hook feedback:"
_MAX_NOTE_CHARS = 400  # characters
MAX_FLOOD_TEXT_CHARS = 120  # characters told of a text in a flood; a claim is looked for in all of it


class StreamJsonParser:
    """One run. The order of its lines is the only state: `init` may come late, `result` early."""

    def __init__(self) -> None:
        self._meter = Meter()
        self._plan = Plan()
        self._planning = BoundedDict()  # calls that were told as a plan
        self._pending_plan: ToolUseBlock | None = None  # the call that tells the latest plan
        self._running_tools = BoundedDict()  # of tools that run
        self._working_tools: set[str] = set()  # tools that did something
        self._failures = BoundedDict()
        self._result: ResultLine | None = None
        self._retry: SystemLine | None = None  # while nothing came after it
        self._resets_at: float | None = None
        self._streamed = StreamedUsage()
        self._text = ""
        self._tools = 0
        self._errors = 0
        self._unparsed = 0

    def feed(self, lines: bytes | bytearray) -> Sequence[AgentEvent]:
        found: list[AgentEvent] = []
        self._handle_lines(decode_stream(lines), found)
        if self._pending_plan is not None:
            if planned := self._plan.apply_call(self._pending_plan.name, self._pending_plan.input):
                found.append(planned)
            self._pending_plan = None
        return found

    def summarize_run(self) -> ParsedRun:
        """The result event decides; without one, a retry under way tells why nothing came."""
        told = ParsedRun(
            closing="none",
            text=self._text,
            cost_usd=self._meter.cost_usd,
            usage=self._meter.usage if self._result is not None else self._streamed.total,
            tools=self._tools,
            errors=self._errors,
            unparsed=self._unparsed,
        )
        if self._result is not None:
            return self._apply_result(told, self._result)
        if self._retry is not None:
            return replace(told, error=_describe_retry(self._retry), status=self._retry.error_status)
        return told

    def _apply_result(self, told: ParsedRun, result: ResultLine) -> ParsedRun:
        error = _describe_error(result)
        denials = self._list_denials(result)
        guarded = {denial.tool_use_id: words for denial in denials if (words := self._find_guard_words(denial))}
        commands = (read_command(denial.tool_input) for denial in denials if denial.tool_use_id not in guarded)
        if self._resets_at is not None:
            error = f"{error or 'rate limit rejected'}|{self._resets_at:.0f}"
        return replace(
            told,
            closing="success" if _is_success(result) else "error",
            # An empty result stays empty: the words before it are those a Stop hook sent back.
            text=result.result if _is_success(result) and result.result is not None else self._text,
            error=error,
            status=result.api_error_status or _find_status(error),
            cut_short=result.subtype.startswith("error_max_"),
            denials=tuple(denial.tool_name for denial in denials),
            refused_commands=tuple(dict.fromkeys(filter(None, commands))),
            guard_words=tuple(dict.fromkeys(guarded.values())),
        )

    def _find_guard_words(self, denial: PermissionDenial) -> str:
        return self._failures.get(denial.tool_use_id, "").partition(_GUARD_PREFIX)[2]

    def _list_denials(self, result: ResultLine) -> tuple[PermissionDenial, ...]:
        """Refused for lack of permission. A hook's own words about a tool that else works are no such lack."""
        return tuple(
            denial
            for denial in result.permission_denials or ()
            if denial.tool_name not in self._working_tools
            or _PERMISSION_PATTERN.search(self._failures.get(denial.tool_use_id, ""))
        )

    def _handle_lines(self, lines: Iterable[Line | Unparsed], found: list[AgentEvent]) -> None:
        """What a flood has a hundred thousand of is heard here, without a call: as below, but less is told."""
        tell, names, planning = found.append, self._running_tools, self._planning
        for line in lines:
            if type(line) is LeanUser:  # not `isinstance`: a Struct is slow to say no
                nested = line.parent_tool_use_id is not None
                for block in line.message.content:
                    if type(block) is TextBlock:
                        self._handle_request(block.text, nested, found)
                    elif block.is_error:
                        self._end_tool(build_tool_ended(block.tool_use_id, "", read_tool_error(block), nested), found)
                    elif (call := block.tool_use_id) not in planning:
                        self._working_tools.add(names.pop(call, ""))
                        tell(
                            ToolEnded(
                                id=call,
                                output="",
                                error=None,
                                lines=0,
                                chars=len(memoryview(block.content)),
                                nested=nested,
                            )
                        )
            elif type(line) is LeanAssistant:
                self._retry = None
                nested = line.parent_tool_use_id is not None
                said = ""
                for part in line.message.content:
                    if type(part) is TextBlock:
                        if text := part.text:
                            tell(
                                Said(
                                    text if len(text) <= MAX_FLOOD_TEXT_CHARS else text[:MAX_FLOOD_TEXT_CHARS] + "…",
                                    False,
                                    nested,
                                )
                            )
                            said = f"{said}\n{text}" if said else text
                    elif type(part) is ToolUseBlock:
                        said = ""
                        if part.name in WHOLE_PLANS and not nested:
                            self._text, self._pending_plan = "", part
                            planning.remember(part.id)
                        else:
                            self._start_tool(part, nested, found)
                if said and not nested:
                    self._text = said
            else:
                _HANDLERS[type(line)](self, line, found)

    # -- frequent lines ----------------------------------------------------------------------------
    def _handle_assistant(self, line: AssistantLine, found: list[AgentEvent]) -> None:
        self._retry = None
        if (message := line.message) is not None:
            self._streamed.add_message(bytes(message.id).removeprefix(b"null"), _to_usage(read_usage(message.usage)))
        content = message.content if message is not None else ""
        if isinstance(content, str):
            content = [ContentBlock(type="text", text=content)]
        nested = line.parent_tool_use_id is not None
        texts = []
        for block in content:
            if block.type == "text":
                if block.text:
                    found.append(Said(block.text, False, nested))
                    texts.append(block.text)
            elif block.type == "tool_use":
                self._start_tool(block, nested, found, describe_edit(block.name, block.input))
                texts.clear()
            elif block.thinking:
                found.append(Said(block.thinking, True, nested))
        if texts and not nested:
            self._text = "\n".join(texts)

    def _handle_user(self, line: UserLine, found: list[AgentEvent]) -> None:
        content = line.message.content if line.message is not None else ""
        nested = line.parent_tool_use_id is not None
        if isinstance(content, str):
            content = [ContentBlock(type="text", text=content)]
        for block in content:
            if block.type == "tool_result":
                output = join_parts(block.content)
                self._end_tool(build_tool_ended(block.tool_use_id, output, _find_failure(block, output), nested), found)
            else:
                self._handle_request(block.text, nested, found)

    def _handle_request(self, text: str, nested: bool, found: list[AgentEvent]) -> None:
        if not nested:
            self._text = ""  # what was said before it is not the last word
            if text.startswith(_STOP_HOOK_PREFIX):
                found.append(Noted(_join_lines(text)))

    def _start_tool(
        self,
        block: ContentBlock | ToolUseBlock,
        nested: bool,
        found: list[AgentEvent],
        edit: FileEdit | None = None,
    ) -> None:
        if not nested:
            self._text = ""
            if block.name in PLAN_TOOLS:
                self._planning.remember(block.id)
                if planned := self._plan.apply_call(block.name, block.input):
                    found.append(planned)
                return
        self._tools += 1
        self._running_tools.remember(block.id, block.name)
        found.append(
            ToolStarted(
                id=block.id,
                name=block.name,
                summary=summarize_input(block.name, block.input),
                nested=nested,
                edit=edit,
            )
        )

    def _end_tool(self, event: ToolEnded, found: list[AgentEvent]) -> None:
        if event.id in self._planning:
            return
        if event.error is None:
            self._working_tools.add(self._running_tools.pop(event.id, ""))
        else:
            self._errors += 1
            self._failures.remember(event.id, event.error)
        found.append(event)

    # -- rare lines --------------------------------------------------------------------------------
    def _handle_unparsed(self, line: Unparsed, found: list[AgentEvent]) -> None:
        self._unparsed += line.count
        found.append(line)

    def _handle_system(self, line: SystemLine, found: list[AgentEvent]) -> None:
        if line.subtype in ("init", "") and line.session_id:
            found.append(Noted(f"session: {line.session_id}"))
            broken = dict.fromkeys(f"plugin {e.plugin}: {e.type}" for e in line.plugin_errors or ())
            found.extend(map(Noted, broken))
        elif line.subtype == "api_retry":
            self._retry = line
            found.append(Noted(_describe_retry(line), line.error_status))
        elif line.subtype == "retry":
            found.append(Noted(describe_delay(line.data)))
        elif line.subtype == "notification" and line.text:
            found.append(Noted(line.text.partition(" · ctrl+")[0]))  # a key only its own screen has

    def _handle_result(self, line: ResultLine, found: list[AgentEvent]) -> None:
        self._result = line
        usage = _to_usage(line.usage)
        found.append(self._meter.add_total(line.total_cost_usd, usage))
        ok = _is_success(line)
        found.append(
            Finished(
                ok=ok,
                text=line.result or "" if ok else "",
                error=_describe_error(line),
                cost_usd=line.total_cost_usd,
                usage=usage,
                turns=line.num_turns or 0,
                seconds=(line.duration_ms or 0.0) / 1000,
            )
        )

    def _handle_limit(self, line: RateLimitLine, found: list[AgentEvent]) -> None:
        info = line.rate_limit_info
        rejected = info is not None and info.status == "rejected"
        self._resets_at = info.resetsAt if info is not None and rejected else None


# A table, for speed: a `match` costs three times as much.
_HANDLERS: dict[type, Callable[[StreamJsonParser, Any, list[AgentEvent]], None]] = {
    UserLine: StreamJsonParser._handle_user,
    AssistantLine: StreamJsonParser._handle_assistant,
    SystemLine: StreamJsonParser._handle_system,
    ResultLine: StreamJsonParser._handle_result,
    RateLimitLine: StreamJsonParser._handle_limit,
    Unparsed: StreamJsonParser._handle_unparsed,
    PartialLine: lambda *_: None,
    ToolProgressLine: lambda *_: None,
}


def _join_lines(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MAX_NOTE_CHARS else words[: _MAX_NOTE_CHARS - 1] + "…"


def _find_failure(block: ContentBlock, output: str) -> str | None:
    return (block.error or output or "failed") if block.is_error else None


def _is_success(result: ResultLine) -> bool:
    return result.subtype == "success" and not result.is_error


def _describe_error(result: ResultLine) -> str:
    if _is_success(result):
        return ""
    told = [_find_words(result.error)] if result.error else result.errors or ()
    return "; ".join(map(str, told)) or result.result or result.subtype


def _find_words(error: object) -> object:
    """Qwen puts them into an object."""
    return error.get("message") or error if isinstance(error, dict) else error


def _find_status(error: str) -> int | None:
    found = _STATUS_PATTERN.search(error)
    return int(found[1]) if found else None


def _to_usage(usage: WireUsage | None) -> Usage:
    if usage is None:
        return NO_USAGE
    return Usage(
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        cache_read_tokens=usage.cache_read_input_tokens or 0,
        cache_write_tokens=usage.cache_creation_input_tokens or 0,
    )


def _describe_retry(retry: SystemLine) -> str:
    # No status: the request never got an answer.
    status = retry.error_status or "no connection,"
    delay = (retry.retry_delay_ms or 0.0) / 1000
    return f"API retry {retry.attempt}/{retry.max_retries} in {delay:.1f}s: {status} {retry.error or ''}".rstrip(" ,")
