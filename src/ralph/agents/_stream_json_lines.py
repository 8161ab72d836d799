"""The lines of Claude's stream-json. What we neither show nor judge is not named, so it is never built."""

from typing import Any

from msgspec import Raw, Struct
from msgspec.json import Decoder

from ralph.agents._ndjson import LONG, UNDECODABLE, unparsed, value
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


class LeanBlock(Struct, frozen=True, gc=False):
    """A block of which as little is built as can be: no thoughts, and texts stay raw."""

    type: str = ""
    text: Raw = NO_TEXT


class LeanSaying(LeanBlock, frozen=True, gc=False):
    id: str = ""
    name: str = ""
    input: Raw = NOTHING


class LeanAnswer(LeanBlock, frozen=True, gc=False):
    tool_use_id: str = ""
    content: Raw = NOTHING
    is_error: bool | None = None
    error: Raw = NOTHING


class LeanSayings(Struct, frozen=True, gc=False):
    content: str | list[LeanSaying] = ""


class LeanAnswers(Struct, frozen=True, gc=False):
    content: str | list[LeanAnswer] = ""


class LeanAssistant(Struct, tag="assistant", frozen=True, gc=False):
    message: LeanSayings | None = None
    parent_tool_use_id: str | None = None


class LeanUser(Struct, tag="user", frozen=True, gc=False):
    message: LeanAnswers | None = None
    parent_tool_use_id: str | None = None


# Of a long line no text is built at all: it might be as long as its line.
class LongSayings(LeanSayings, frozen=True, gc=False):
    content: list[LeanSaying] = []


class LongAnswers(LeanAnswers, frozen=True, gc=False):
    content: list[LeanAnswer] = []


class LongAssistant(LeanAssistant, tag="assistant", frozen=True, gc=False):
    message: LongSayings | None = None


class LongUser(LeanUser, tag="user", frozen=True, gc=False):
    message: LongAnswers | None = None


Line = Assistant | User | LeanAssistant | LeanUser | System | Result | Limit | Partial | Progress
DECODER: Decoder[Line] = Decoder(Assistant | User | System | Result | Limit | Partial | Progress)
LEAN: Decoder[Line] = Decoder(LeanAssistant | LeanUser | System | Result | Limit | Partial | Progress)
_LONG: Decoder[Line] = Decoder(LongAssistant | LongUser | System | Result)
_TEXT = Decoder(str)
_CONTENT: Decoder[str | list[Part] | None] = Decoder(str | list[Part] | None)


def text_in(block: LeanBlock) -> str | Unparsed:
    """What it says."""
    try:
        return _TEXT.decode(block.text) if len(memoryview(block.text)) < LONG else unparsed(memoryview(block.text))
    except UNDECODABLE:
        return value(block.text, _TEXT)


def failure_in(block: LeanAnswer) -> str:
    """What its tool failed with."""
    for raw in (block.error, block.content):
        words = value(raw, _CONTENT)
        if words and not isinstance(words, Unparsed):
            return joined(words)
    return "failed"


def joined(content: str | list[Part] | None) -> str:
    """A tool's output is a text, or the texts in a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if part.text) if content else ""


def long_line(line: memoryview) -> Line | Unparsed:
    """A line beyond `_ndjson.LONG`: the calls and results in it, not their contents."""
    try:
        return _LONG.decode(line)
    except UNDECODABLE:
        return unparsed(line)
