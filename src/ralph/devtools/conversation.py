"""What a client asks and what the scripted model answers, whatever API they speak."""

from collections.abc import Callable, Mapping

from msgspec import Struct

Arguments = Mapping[str, object] | str  # a str: a freeform tool's whole input


class Question(Struct, frozen=True):
    """One request for an answer."""

    session: str = ""  # the client's own name for the conversation; empty where it sends none
    model: str = "scripted"
    streams: bool = False
    tools: frozenset[str] = frozenset()  # none: a side request, for a title or a quota
    asked: str = ""  # the user's last words
    fresh: bool = True  # nothing was answered in it so far


class Text(Struct, frozen=True):
    """Words."""

    text: str
    thought: bool = False


class Call(Struct, frozen=True):
    """A tool the client shall use."""

    tool: str
    given: Arguments


class Pause(Struct, frozen=True):
    """Silence, then it goes on."""

    seconds: float


class Raw(Struct, frozen=True):
    """Bytes no API has."""

    text: str


class Failure(Struct, frozen=True):
    """The service's error; told by its status when it comes first, in the stream when it comes later."""

    status: int
    message: str
    retry_after: float | None = None
    reset_at: float | None = None


class Break(Struct, frozen=True):
    """The connection is closed in the middle."""


Part = Text | Call | Pause | Raw | Failure | Break


class Tokens(Struct, frozen=True):
    """What an answer takes, by Anthropic's names."""

    input_tokens: int = 100
    output_tokens: int = 20
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class Answer(Struct, frozen=True):
    """What is sent, in order."""

    parts: tuple[Part, ...] = ()
    tokens: Tokens = Tokens()

    @property
    def calls_tools(self) -> bool:
        """Whether the client is to come back with a tool's result."""
        return any(isinstance(part, Call) for part in self.parts)

    @property
    def failure(self) -> Failure | None:
        """The error that takes the place of an answer."""
        first = next((part for part in self.parts if not isinstance(part, Pause)), None)
        return first if isinstance(first, Failure) else None


class Event(Struct, frozen=True):
    """One event of a stream."""

    data: object  # a str is sent as it is, anything else as JSON
    name: str = ""


Piece = Event | Pause | Raw | Break
NewId = Callable[[str], str]  # a prefix → a name nobody has
