"""What a client asks and what the scripted model answers, whatever API they speak."""

from collections.abc import Callable, Mapping

from msgspec import Struct

ToolArguments = Mapping[str, object] | str  # a str: a freeform tool's whole input


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One request for an answer."""

    session: str = ""  # the client's own name for the conversation; empty where it sends none
    model: str = "scripted"
    streams: bool = False
    tools: frozenset[str] = frozenset()  # none: a side request, for a title or a quota
    asked: str = ""  # the user's last words
    fresh: bool = True  # nothing was answered in it so far


class ReplyText(Struct, frozen=True):
    """Words."""

    text: str
    thought: bool = False


class ToolCall(Struct, frozen=True):
    """A tool the client shall use."""

    tool: str
    given: ToolArguments


class Pause(Struct, frozen=True):
    """Silence, then it goes on."""

    seconds: float


class RawText(Struct, frozen=True):
    """Bytes no API has."""

    text: str


class ServiceError(Struct, frozen=True, kw_only=True):
    """The service's error; told by its status when it comes first, in the stream when it comes later."""

    status: int
    message: str
    retry_after: float | None = None
    reset_at: float | None = None


class Disconnect(Struct, frozen=True):
    """The connection is closed in the middle."""


ReplyPart = ReplyText | ToolCall | Pause | RawText | ServiceError | Disconnect


class ReplyTokens(Struct, frozen=True, kw_only=True):
    """What an answer takes, by Anthropic's names."""

    input_tokens: int = 100
    output_tokens: int = 20
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class ModelReply(Struct, frozen=True):
    """What is sent, in order."""

    parts: tuple[ReplyPart, ...] = ()
    tokens: ReplyTokens = ReplyTokens()

    @property
    def has_tool_calls(self) -> bool:
        """Whether the client is to come back with a tool's result."""
        return any(isinstance(part, ToolCall) for part in self.parts)

    @property
    def failure(self) -> ServiceError | None:
        """The error that takes the place of an answer."""
        first = next((part for part in self.parts if not isinstance(part, Pause)), None)
        return first if isinstance(first, ServiceError) else None


class StreamEvent(Struct, frozen=True):
    """One event of a stream."""

    data: object  # a str is sent as it is, anything else as JSON
    name: str = ""


StreamPiece = StreamEvent | Pause | RawText | Disconnect
IdFactory = Callable[[str], str]  # a prefix → a name nobody has
