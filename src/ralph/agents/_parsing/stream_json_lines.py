"""The lines of Claude's stream-json. What we neither show nor judge is not named, so it is never built."""

from collections.abc import Iterable
from typing import Any, final

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder

from ralph.agents._parsing.ndjson import DECODE_ERRORS, decode_line, decode_lines, describe_unparsed, is_flood
from ralph.model.events import Unparsed

NULL_JSON = Raw(b"null")
EMPTY_TEXT_JSON = Raw(b'""')


class TextPart(Struct, frozen=True, gc=False):
    text: str = ""


class ContentBlock(Struct, frozen=True, gc=False, kw_only=True):
    """Any content block: one type for all, so a kind we do not know costs nothing but itself."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Raw = NULL_JSON
    tool_use_id: str = ""
    content: str | list[TextPart] | None = None
    is_error: bool | None = None
    error: str | None = None


class ContentMessage(Struct, frozen=True, kw_only=True):
    content: str | list[ContentBlock] = ""
    id: Raw = NULL_JSON
    usage: Raw = NULL_JSON  # of whatever shape: the line must not be lost for it


class AssistantLine(Struct, tag="assistant", frozen=True):
    message: ContentMessage | None = None
    parent_tool_use_id: str | None = None


class UserLine(Struct, tag="user", frozen=True):
    message: ContentMessage | None = None
    parent_tool_use_id: str | None = None


class PluginError(Struct, frozen=True, gc=False):
    plugin: str = ""
    type: str = ""


class SystemLine(Struct, tag="system", frozen=True, kw_only=True):
    subtype: str = ""
    session_id: str | None = None
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: str | None = None
    text: str | None = None
    data: Raw = NULL_JSON  # Qwen's
    plugin_errors: list[PluginError] | None = None


class RetryDelay(Struct, frozen=True, gc=False):
    attempt: int | None = None
    maxRetries: int | None = None  # noqa: N815  as it stands on the wire
    delayMs: float | None = None  # noqa: N815


class WireUsage(Struct, frozen=True, gc=False, kw_only=True):
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0


class PermissionDenial(Struct, frozen=True, gc=False):
    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: Raw = NULL_JSON


class ResultLine(Struct, tag="result", frozen=True, kw_only=True):
    subtype: str = "success"
    is_error: bool | None = False
    result: str | None = None
    error: Any = None  # whatever it is, the line must not be lost for it
    errors: list[Any] | None = None
    api_error_status: int | None = None
    total_cost_usd: float | None = None
    usage: WireUsage | None = None
    num_turns: int | None = 0
    duration_ms: float | None = 0.0
    permission_denials: list[PermissionDenial] | None = None


class RateLimitInfo(Struct, frozen=True, gc=False):
    status: str | None = None
    resetsAt: float | None = None  # noqa: N815  as it stands on the wire


class RateLimitLine(Struct, tag="rate_limit_event", frozen=True):
    rate_limit_info: RateLimitInfo | None = None


class PartialLine(Struct, tag="stream_event", frozen=True, gc=False):
    """Pieces of what comes whole soon after."""


class ToolProgressLine(Struct, tag="tool_progress", frozen=True, gc=False):
    """A tool still runs."""


# -- a flood: one pass builds what is judged and told. A line of another shape is read as always.
@final
class TextBlock(Struct, tag="text", frozen=True, gc=False):
    text: str = ""


class ThinkingBlock(Struct, tag="thinking", frozen=True, gc=False):
    """Not told."""


class ToolUseBlock(Struct, tag="tool_use", frozen=True, gc=False):
    id: str = ""
    name: str = ""
    input: Raw = NULL_JSON


class ToolResultBlock(Struct, tag="tool_result", frozen=True, gc=False, kw_only=True):
    tool_use_id: str = ""
    content: Raw = NULL_JSON
    is_error: bool | None = None
    error: Raw = NULL_JSON


class LeanAssistantMessage(Struct, frozen=True, gc=False):
    content: list[TextBlock | ThinkingBlock | ToolUseBlock]


class LeanUserMessage(Struct, frozen=True, gc=False):
    content: list[TextBlock | ToolResultBlock]


class LeanAssistant(Struct, tag="assistant", frozen=True, gc=False):
    message: LeanAssistantMessage
    parent_tool_use_id: str | None = None


class LeanUser(Struct, tag="user", frozen=True, gc=False):
    message: LeanUserMessage
    parent_tool_use_id: str | None = None


# -- a line too long to build: its texts stay raw, for one might be as long as the line
class LongBlock(Struct, frozen=True, gc=False, kw_only=True):
    type: str = ""
    text: Raw = EMPTY_TEXT_JSON
    id: str = ""
    name: str = ""
    input: Raw = NULL_JSON
    tool_use_id: str = ""
    content: Raw = NULL_JSON
    is_error: bool | None = None
    error: Raw = NULL_JSON


class LongMessage(Struct, frozen=True, gc=False):
    content: list[LongBlock] = []


class LongAssistant(Struct, tag="assistant", frozen=True, gc=False):
    message: LongMessage = LongMessage()
    parent_tool_use_id: str | None = None


class LongUser(Struct, tag="user", frozen=True, gc=False):
    message: LongMessage = LongMessage()
    parent_tool_use_id: str | None = None


Line = (
    AssistantLine
    | UserLine
    | LeanAssistant
    | LeanUser
    | SystemLine
    | ResultLine
    | RateLimitLine
    | PartialLine
    | ToolProgressLine
)
_DECODER: Decoder[Line] = Decoder(
    AssistantLine | UserLine | SystemLine | ResultLine | RateLimitLine | PartialLine | ToolProgressLine
)
_LEAN_DECODER: Decoder[Line] = Decoder(
    LeanAssistant | LeanUser | SystemLine | ResultLine | RateLimitLine | PartialLine | ToolProgressLine
)
_LONG_DECODER: Decoder[LongAssistant | LongUser | SystemLine | ResultLine] = Decoder(
    LongAssistant | LongUser | SystemLine | ResultLine
)
_TEXT_DECODER = Decoder(str)
_DELAY_DECODER = Decoder(RetryDelay)
_USAGE_DECODER: Decoder[WireUsage | None] = Decoder(WireUsage | None)
_CONTENT_DECODER: Decoder[str | list[TextPart] | None] = Decoder(str | list[TextPart] | None)


def decode_stream(block: bytes | bytearray) -> Iterable[Line | Unparsed]:
    """Every line of the block, in a flood as lean as can be."""
    if is_flood(block):
        return decode_lines(block, _LEAN_DECODER, _decode_long_line, _decode_lean_line)
    return decode_lines(block, _DECODER, _decode_long_line)


def _decode_lean_line(line: memoryview) -> Line | Unparsed:
    try:
        return _LEAN_DECODER.decode(line)
    except DECODE_ERRORS:
        return decode_line(line, _DECODER)


def _decode_long_line(line: memoryview) -> Line | Unparsed:
    """A line beyond `_ndjson.MAX_BUILT_LINE_BYTES`: the calls and results in it, not their contents."""
    try:
        read = _LONG_DECODER.decode(line)
        if isinstance(read, LongAssistant):
            return LeanAssistant(
                LeanAssistantMessage([_to_assistant_block(each) for each in read.message.content]),
                read.parent_tool_use_id,
            )
        if isinstance(read, LongUser):
            return LeanUser(
                LeanUserMessage([_to_user_block(each) for each in read.message.content]), read.parent_tool_use_id
            )
        return read
    except DECODE_ERRORS:
        return describe_unparsed(line)


def read_usage(usage: Raw) -> WireUsage | None:
    """None where nobody understands it."""
    try:
        return _USAGE_DECODER.decode(usage)
    except DECODE_ERRORS:
        return None


def describe_delay(data: Raw) -> str:
    """Qwen's word about a request it tries again."""
    retry = decode_line(data, _DELAY_DECODER)
    if isinstance(retry, Unparsed) or retry.attempt is None:
        return "API retry"
    return f"API retry {retry.attempt}/{retry.maxRetries} in {(retry.delayMs or 0.0) / 1000:.1f}s"


def read_tool_error(block: ToolResultBlock) -> str:
    for raw in (block.error, block.content):
        words = decode_line(raw, _CONTENT_DECODER)
        if not isinstance(words, Unparsed) and (text := join_parts(words)):
            return text
    return "failed"


def join_parts(content: str | list[TextPart] | None) -> str:
    """A tool's output is a text, or the texts in a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if part.text) if content else ""


def _to_assistant_block(block: LongBlock) -> TextBlock | ThinkingBlock | ToolUseBlock:
    match block.type:
        case "text":
            return TextBlock(_decode_short_text(block.text))
        case "tool_use":
            return ToolUseBlock(block.id, block.name, block.input)
        case _:
            return ThinkingBlock()


def _to_user_block(block: LongBlock) -> TextBlock | ToolResultBlock:
    if block.type == "tool_result":
        return ToolResultBlock(
            tool_use_id=block.tool_use_id, content=block.content, is_error=block.is_error, error=block.error
        )
    return TextBlock(_decode_short_text(block.text))


def _decode_short_text(text: Raw) -> str:
    words = decode_line(text, _TEXT_DECODER)
    if isinstance(words, Unparsed):
        raise DecodeError
    return words
