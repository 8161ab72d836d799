"""The lines of Claude's stream-json. What we neither show nor judge is not named, so it is never built."""

from collections.abc import Iterable
from typing import Any, final

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder

from ralph.agents._ndjson import UNDECODABLE, is_flood, unparsed, value, values
from ralph.model.events import Unparsed

NOTHING = Raw(b"null")
NO_TEXT = Raw(b'""')


class Part(Struct, frozen=True, gc=False):
    text: str = ""


class Block(Struct, frozen=True, gc=False):
    """Any content block: one type for all, so a kind we do not know costs nothing but itself."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Raw = NOTHING
    tool_use_id: str = ""
    content: str | list[Part] | None = None
    is_error: bool | None = None
    error: str | None = None


class Message(Struct, frozen=True):
    content: str | list[Block] = ""


class Assistant(Struct, tag="assistant", frozen=True):
    message: Message | None = None
    parent_tool_use_id: str | None = None


class User(Struct, tag="user", frozen=True):
    message: Message | None = None
    parent_tool_use_id: str | None = None


class PluginError(Struct, frozen=True, gc=False):
    plugin: str = ""
    type: str = ""


class System(Struct, tag="system", frozen=True):
    subtype: str = ""
    session_id: str | None = None
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: str | None = None
    text: str | None = None
    plugin_errors: list[PluginError] | None = None


class Tokens(Struct, frozen=True, gc=False):
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0


class Denial(Struct, frozen=True, gc=False):
    tool_name: str = ""
    tool_use_id: str = ""


class Result(Struct, tag="result", frozen=True):
    subtype: str = "success"
    is_error: bool | None = False
    result: str | None = None
    error: Any = None  # whatever it is, the line must not be lost for it
    errors: list[Any] | None = None
    api_error_status: int | None = None
    total_cost_usd: float | None = None
    usage: Tokens | None = None
    num_turns: int | None = 0
    duration_ms: float | None = 0.0
    permission_denials: list[Denial] | None = None


class LimitInfo(Struct, frozen=True, gc=False):
    status: str | None = None
    resetsAt: float | None = None  # noqa: N815  as it stands on the wire


class Limit(Struct, tag="rate_limit_event", frozen=True):
    rate_limit_info: LimitInfo | None = None


class Partial(Struct, tag="stream_event", frozen=True, gc=False):
    """Pieces of what comes whole soon after."""


class Progress(Struct, tag="tool_progress", frozen=True, gc=False):
    """A tool still runs."""


# -- a flood: one pass builds what is judged and told. A line of another shape is read as always.
@final
class Saying(Struct, tag="text", frozen=True, gc=False):
    text: str = ""


class Thought(Struct, tag="thinking", frozen=True, gc=False):
    """Not told."""


class Call(Struct, tag="tool_use", frozen=True, gc=False):
    id: str = ""
    name: str = ""
    input: Raw = NOTHING


class Answer(Struct, tag="tool_result", frozen=True, gc=False):
    tool_use_id: str = ""
    content: Raw = NOTHING
    is_error: bool | None = None
    error: Raw = NOTHING


class LeanSayings(Struct, frozen=True, gc=False):
    content: list[Saying | Thought | Call]


class LeanAnswers(Struct, frozen=True, gc=False):
    content: list[Saying | Answer]


class LeanAssistant(Struct, tag="assistant", frozen=True, gc=False):
    message: LeanSayings
    parent_tool_use_id: str | None = None


class LeanUser(Struct, tag="user", frozen=True, gc=False):
    message: LeanAnswers
    parent_tool_use_id: str | None = None


# -- a line too long to build: its texts stay raw, for one might be as long as the line
class LongBlock(Struct, frozen=True, gc=False):
    type: str = ""
    text: Raw = NO_TEXT
    id: str = ""
    name: str = ""
    input: Raw = NOTHING
    tool_use_id: str = ""
    content: Raw = NOTHING
    is_error: bool | None = None
    error: Raw = NOTHING


class LongMessage(Struct, frozen=True, gc=False):
    content: list[LongBlock] = []


class LongAssistant(Struct, tag="assistant", frozen=True, gc=False):
    message: LongMessage = LongMessage()
    parent_tool_use_id: str | None = None


class LongUser(Struct, tag="user", frozen=True, gc=False):
    message: LongMessage = LongMessage()
    parent_tool_use_id: str | None = None


Line = Assistant | User | LeanAssistant | LeanUser | System | Result | Limit | Partial | Progress
_DECODER: Decoder[Line] = Decoder(Assistant | User | System | Result | Limit | Partial | Progress)
_LEAN: Decoder[Line] = Decoder(LeanAssistant | LeanUser | System | Result | Limit | Partial | Progress)
_LONG: Decoder[LongAssistant | LongUser | System | Result] = Decoder(LongAssistant | LongUser | System | Result)
_TEXT = Decoder(str)
_CONTENT: Decoder[str | list[Part] | None] = Decoder(str | list[Part] | None)


def read(block: bytes | bytearray) -> Iterable[Line | Unparsed]:
    """Every line of the block, in a flood as lean as can be."""
    if is_flood(block):
        return values(block, _LEAN, _long_line, _lean_line)
    return values(block, _DECODER, _long_line)


def _lean_line(line: memoryview) -> Line | Unparsed:
    try:
        return _LEAN.decode(line)
    except UNDECODABLE:
        return value(line, _DECODER)


def _long_line(line: memoryview) -> Line | Unparsed:
    """A line beyond `_ndjson.LONG`: the calls and results in it, not their contents."""
    try:
        read = _LONG.decode(line)
        if isinstance(read, LongAssistant):
            return LeanAssistant(LeanSayings([_saying(each) for each in read.message.content]), read.parent_tool_use_id)
        if isinstance(read, LongUser):
            return LeanUser(LeanAnswers([_answer(each) for each in read.message.content]), read.parent_tool_use_id)
        return read
    except UNDECODABLE:
        return unparsed(line)


def failure_in(block: Answer) -> str:
    """What its tool failed with."""
    for raw in (block.error, block.content):
        words = value(raw, _CONTENT)
        if not isinstance(words, Unparsed) and (text := joined(words)):
            return text
    return "failed"


def joined(content: str | list[Part] | None) -> str:
    """A tool's output is a text, or the texts in a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if part.text) if content else ""


def _saying(block: LongBlock) -> Saying | Thought | Call:
    match block.type:
        case "text":
            return Saying(_short(block.text))
        case "tool_use":
            return Call(block.id, block.name, block.input)
        case _:
            return Thought()


def _answer(block: LongBlock) -> Saying | Answer:
    if block.type == "tool_result":
        return Answer(block.tool_use_id, block.content, block.is_error, block.error)
    return Saying(_short(block.text))


def _short(text: Raw) -> str:
    words = value(text, _TEXT)
    if isinstance(words, Unparsed):
        raise DecodeError
    return words
