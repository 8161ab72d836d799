"""Google's Gemini."""

from collections.abc import Iterator, Mapping
from typing import Any

from ralph.devtools.conversation import Answer, Break, Call, Event, Failure, NewId, Pause, Piece, Question, Raw, Text

KINDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
COUNTED = {"totalTokens": 1000}


def question(body: Mapping[str, Any], headers: Mapping[str, str]) -> Question:
    """What is asked. It has no name for the conversation, and the address tells whether to stream."""
    contents = body.get("contents") or []
    offered = (tool.get("functionDeclarations") or () for tool in body.get("tools") or ())
    words = [_words(content) for content in contents if content.get("role", "user") == "user"]
    return Question(
        tools=frozenset(function["name"] for functions in offered for function in functions),
        asked=words[-1] if words else "",
        fresh=not any(content.get("role") == "model" for content in contents),
    )


def whole(asked: Question, answer: Answer, new_id: NewId) -> object:
    """One response."""
    parts = [told for part in answer.parts if (told := _part(part, new_id))]
    return {**_chunk(parts, "STOP"), "usageMetadata": _usage(answer), "modelVersion": asked.model}


def stream(asked: Question, answer: Answer, new_id: NewId) -> Iterator[Piece]:
    """A response in pieces."""
    for part in answer.parts:
        match part:
            case Failure():
                yield Event(error(part))
                return
            case Pause() | Raw() | Break():
                yield part
            case _:
                yield Event({**_chunk([_part(part, new_id)]), "modelVersion": asked.model})
    yield Event({**_chunk([], "STOP"), "usageMetadata": _usage(answer), "modelVersion": asked.model})


def error(failure: Failure) -> object:
    """What goes with its status."""
    kind = KINDS.get(failure.status, "INTERNAL" if failure.status >= 500 else "INVALID_ARGUMENT")
    told: dict[str, Any] = {"code": failure.status, "message": failure.message, "status": kind}
    if failure.retry_after is not None:
        delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{failure.retry_after:g}s"}
        told["details"] = [delay]
    return {"error": told}


def _chunk(parts: list[dict[str, Any]], reason: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    return {"candidates": [{**candidate, "finishReason": reason} if reason else candidate]}


def _part(part: object, new_id: NewId) -> dict[str, Any]:
    match part:
        case Text(text, thought):
            return {"text": text, "thought": True} if thought else {"text": text}
        case Call(tool, given):
            return {"functionCall": {"name": tool, "args": given, "id": new_id("")}}
        case _:
            return {}


def _usage(answer: Answer) -> dict[str, int]:
    tokens = answer.tokens
    taken = tokens.input_tokens + tokens.cache_read_input_tokens
    return {
        "promptTokenCount": taken,
        "candidatesTokenCount": tokens.output_tokens,
        "cachedContentTokenCount": tokens.cache_read_input_tokens,
        "totalTokenCount": taken + tokens.output_tokens,
    }


def _words(content: Mapping[str, Any]) -> str:
    return "\n".join(part.get("text") or "" for part in content.get("parts") or ())
