"""The lines of Claude's stream-json. What we neither show nor judge is not named, so it is never built."""

from typing import Any

from msgspec import Raw, Struct
from msgspec.json import Decoder

from ralph.agents._ndjson import UNDECODABLE, unparsed
from ralph.model.events import Unparsed

NOTHING = Raw(b"null")


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


class LongBlock(Struct, frozen=True, gc=False):
    """A block of a line too long to build: its texts are left out, its tool output raw."""

    type: str = ""
    id: str = ""
    name: str = ""
    input: Raw = NOTHING
    tool_use_id: str = ""
    content: Raw = NOTHING
    is_error: bool | None = None


class LongMessage(Struct, frozen=True):
    content: list[LongBlock] = []


class LongAssistant(Struct, tag="assistant", frozen=True):
    message: LongMessage
    parent_tool_use_id: str | None = None


class LongUser(Struct, tag="user", frozen=True):
    message: LongMessage
    parent_tool_use_id: str | None = None


Line = Assistant | User | System | Result | Limit | Partial | Progress | LongAssistant | LongUser
DECODER: Decoder[Line] = Decoder(Assistant | User | System | Result | Limit | Partial | Progress)
_LEAN: Decoder[Line] = Decoder(LongAssistant | LongUser | System | Result)


def long_line(line: memoryview) -> Line | Unparsed:
    """A line beyond `_ndjson.LONG`: the calls and results in it, not their contents."""
    try:
        return _LEAN.decode(line)
    except UNDECODABLE:
        return unparsed(line)
