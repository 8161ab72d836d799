"""Claude's stream-json, which Amp and our scripted agent print too."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ralph.agents._meter import Meter
from ralph.agents._plan import TOOLS as PLAN_TOOLS
from ralph.agents._plan import WHOLE as WHOLE_PLANS
from ralph.agents._plan import Plan
from ralph.agents._recent import Recent
from ralph.agents._stream_json_lines import (
    Assistant,
    Block,
    Call,
    LeanAssistant,
    LeanUser,
    Limit,
    Line,
    Partial,
    Progress,
    Result,
    Saying,
    System,
    Tokens,
    User,
    failure_in,
    joined,
    read,
)
from ralph.agents._tools import ended, summary
from ralph.model.events import NO_USAGE, AgentEvent, Finished, Noted, Said, ToolEnded, ToolStarted, Unparsed, Usage
from ralph.model.ports import Heard

_ABOUT_PERMISSION = re.compile(r"permission|approv|granted", re.IGNORECASE)
_HELD_BACK = "Stop hook feedback:"
_NOTE = 400  # characters
BRIEF = 120  # characters told of a text in a flood; a claim is looked for in all of it


class StreamJsonParser:
    """One run. The order of its lines is the only state: `init` may come late, `result` early."""

    def __init__(self) -> None:
        self._meter = Meter()
        self._plan = Plan()
        self._planning = Recent()  # calls that were told as a plan
        self._unread: Call | None = None  # the call that tells the latest plan
        self._names = Recent()  # of tools that run
        self._worked: set[str] = set()  # tools that did something
        self._failures = Recent()
        self._result: Result | None = None
        self._retry: System | None = None  # while nothing came after it
        self._resets_at: float | None = None
        self._text = ""
        self._tools = 0
        self._errors = 0
        self._unparsed = 0

    def feed(self, lines: bytes | bytearray) -> Sequence[AgentEvent]:
        """The events of these lines."""
        found: list[AgentEvent] = []
        self._hear(read(lines), found)
        if self._unread is not None:
            if planned := self._plan.changed(self._unread.name, self._unread.input):
                found.append(planned)
            self._unread = None
        return found

    def heard(self) -> Heard:
        """The result event decides; without one, a retry under way tells why nothing came."""
        told = Heard(
            "none",
            text=self._text,
            cost_usd=self._meter.cost_usd,
            usage=self._meter.usage,
            tools=self._tools,
            errors=self._errors,
            unparsed=self._unparsed,
        )
        if self._result is not None:
            return self._closed(told, self._result)
        if self._retry is not None:
            return replace(told, error=_retry_words(self._retry), status=self._retry.error_status)
        return told

    def _closed(self, told: Heard, result: Result) -> Heard:
        error = _error(result)
        if self._resets_at is not None:
            error = f"{error or 'rate limit rejected'}|{self._resets_at:.0f}"
        return replace(
            told,
            closing="success" if _succeeded(result) else "error",
            # An empty result stays empty: the words before it are those a Stop hook sent back.
            text=result.result if _succeeded(result) and result.result is not None else self._text,
            error=error,
            status=result.api_error_status,
            cut_short=result.subtype.startswith("error_max_"),
            denials=self._denials(result),
        )

    def _denials(self, result: Result) -> tuple[str, ...]:
        """Refused for lack of permission. A hook's own words about a tool that else works are no such lack."""
        return tuple(
            denial.tool_name
            for denial in result.permission_denials or ()
            if denial.tool_name not in self._worked
            or _ABOUT_PERMISSION.search(self._failures.get(denial.tool_use_id, ""))
        )

    def _hear(self, lines: Iterable[Line | Unparsed], found: list[AgentEvent]) -> None:
        """What a flood has a hundred thousand of is heard here, without a call: as below, but less is told."""
        tell, names, planning = found.append, self._names, self._planning
        for line in lines:
            if type(line) is LeanUser:  # not `isinstance`: a Struct is slow to say no
                nested = line.parent_tool_use_id is not None
                for block in line.message.content:
                    if type(block) is Saying:
                        self._hear_request(block.text, nested, found)
                    elif block.is_error:
                        self._end(ended(block.tool_use_id, "", failure_in(block), nested), found)
                    elif (call := block.tool_use_id) not in planning:
                        self._worked.add(names.pop(call, ""))
                        tell(ToolEnded(call, "", None, 0, len(memoryview(block.content)), nested))
            elif type(line) is LeanAssistant:
                self._retry = None
                nested = line.parent_tool_use_id is not None
                said = ""
                for part in line.message.content:
                    if type(part) is Saying:
                        if text := part.text:
                            tell(Said(text if len(text) <= BRIEF else text[:BRIEF] + "…", False, nested))
                            said = f"{said}\n{text}" if said else text
                    elif type(part) is Call:
                        said = ""
                        if part.name in WHOLE_PLANS and not nested:
                            self._text, self._unread = "", part
                            planning.remember(part.id)
                        else:
                            self._start(part, nested, found)
                if said and not nested:
                    self._text = said
            else:
                _HEARS[type(line)](self, line, found)

    # -- frequent lines ----------------------------------------------------------------------------
    def _hear_assistant(self, line: Assistant, found: list[AgentEvent]) -> None:
        self._retry = None
        content = line.message.content if line.message is not None else ""
        if isinstance(content, str):
            content = [Block("text", content)]
        nested = line.parent_tool_use_id is not None
        texts = []
        for block in content:
            if block.type == "text":
                if block.text:
                    found.append(Said(block.text, False, nested))
                    texts.append(block.text)
            elif block.type == "tool_use":
                self._start(block, nested, found)
                texts.clear()
            elif block.thinking:
                found.append(Said(block.thinking, True, nested))
        if texts and not nested:
            self._text = "\n".join(texts)

    def _hear_user(self, line: User, found: list[AgentEvent]) -> None:
        content = line.message.content if line.message is not None else ""
        nested = line.parent_tool_use_id is not None
        if isinstance(content, str):
            content = [Block("text", content)]
        for block in content:
            if block.type == "tool_result":
                output = joined(block.content)
                self._end(ended(block.tool_use_id, output, _failure(block, output), nested), found)
            else:
                self._hear_request(block.text, nested, found)

    def _hear_request(self, text: str, nested: bool, found: list[AgentEvent]) -> None:
        if not nested:
            self._text = ""  # what was said before it is not the last word
            if text.startswith(_HELD_BACK):
                found.append(Noted(_in_a_line(text)))

    def _start(self, block: Block | Call, nested: bool, found: list[AgentEvent]) -> None:
        if not nested:
            self._text = ""
            if block.name in PLAN_TOOLS:
                self._planning.remember(block.id)
                if planned := self._plan.changed(block.name, block.input):
                    found.append(planned)
                return
        self._tools += 1
        self._names.remember(block.id, block.name)
        found.append(ToolStarted(block.id, block.name, summary(block.name, block.input), nested))

    def _end(self, event: ToolEnded, found: list[AgentEvent]) -> None:
        if event.id in self._planning:
            return
        if event.error is None:
            self._worked.add(self._names.pop(event.id, ""))
        else:
            self._errors += 1
            self._failures.remember(event.id, event.error)
        found.append(event)

    # -- rare lines --------------------------------------------------------------------------------
    def _hear_unparsed(self, line: Unparsed, found: list[AgentEvent]) -> None:
        self._unparsed += line.count
        found.append(line)

    def _hear_system(self, line: System, found: list[AgentEvent]) -> None:
        if line.subtype in ("init", "") and line.session_id:
            found.append(Noted(f"session: {line.session_id}"))
            broken = dict.fromkeys(f"plugin {e.plugin}: {e.type}" for e in line.plugin_errors or ())
            found.extend(map(Noted, broken))
        elif line.subtype == "api_retry":
            self._retry = line
            found.append(Noted(_retry_words(line)))
        elif line.subtype == "notification" and line.text:
            found.append(Noted(line.text.partition(" · ctrl+")[0]))  # a key only its own screen has

    def _hear_result(self, line: Result, found: list[AgentEvent]) -> None:
        self._result = line
        usage = _counted(line.usage)
        found.append(self._meter.total(line.total_cost_usd, usage))
        ok = _succeeded(line)
        found.append(
            Finished(
                ok,
                text=line.result or "" if ok else "",
                error=_error(line),
                cost_usd=line.total_cost_usd,
                usage=usage,
                turns=line.num_turns or 0,
                seconds=(line.duration_ms or 0.0) / 1000,
            )
        )

    def _hear_limit(self, line: Limit, found: list[AgentEvent]) -> None:
        info = line.rate_limit_info
        rejected = info is not None and info.status == "rejected"
        self._resets_at = info.resetsAt if info is not None and rejected else None


# A table, for speed: a `match` costs three times as much.
_HEARS: dict[type, Callable[[StreamJsonParser, Any, list[AgentEvent]], None]] = {
    User: StreamJsonParser._hear_user,
    Assistant: StreamJsonParser._hear_assistant,
    System: StreamJsonParser._hear_system,
    Result: StreamJsonParser._hear_result,
    Limit: StreamJsonParser._hear_limit,
    Unparsed: StreamJsonParser._hear_unparsed,
    Partial: lambda *_: None,
    Progress: lambda *_: None,
}


def _in_a_line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _NOTE else words[: _NOTE - 1] + "…"


def _failure(block: Block, output: str) -> str | None:
    return (block.error or output or "failed") if block.is_error else None


def _succeeded(result: Result) -> bool:
    return result.subtype == "success" and not result.is_error


def _error(result: Result) -> str:
    if _succeeded(result):
        return ""
    told = [result.error] if result.error else result.errors or ()
    return "; ".join(map(str, told)) or result.result or result.subtype


def _counted(usage: Tokens | None) -> Usage:
    if usage is None:
        return NO_USAGE
    return Usage(
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cache_read_input_tokens or 0,
        usage.cache_creation_input_tokens or 0,
    )


def _retry_words(retry: System) -> str:
    # No status: the request never got an answer.
    status = retry.error_status or "no connection,"
    delay = (retry.retry_delay_ms or 0.0) / 1000
    return f"API retry {retry.attempt}/{retry.max_retries} in {delay:.1f}s: {status} {retry.error or ''}".rstrip(" ,")
