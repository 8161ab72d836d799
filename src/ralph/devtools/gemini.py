"""Google's Gemini."""

from collections.abc import Iterator, Mapping
from typing import Any

from ralph.devtools.conversation import (
    Disconnect,
    IdFactory,
    ModelReply,
    ModelRequest,
    Pause,
    RawText,
    ReplyText,
    ServiceError,
    StreamEvent,
    StreamPiece,
    ToolCall,
)

GEMINI_ERROR_KINDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
GEMINI_TOKEN_COUNT = {"totalTokens": 1000}


def parse_gemini_request(body: Mapping[str, Any], headers: Mapping[str, str]) -> ModelRequest:
    """What is asked. It has no name for the conversation, and the address tells whether to stream."""
    contents = body.get("contents") or []
    offered = (tool.get("functionDeclarations") or () for tool in body.get("tools") or ())
    words = [_join_text(content) for content in contents if content.get("role", "user") == "user"]
    return ModelRequest(
        tools=frozenset(function["name"] for functions in offered for function in functions),
        asked=words[-1] if words else "",
        fresh=not any(content.get("role") == "model" for content in contents),
    )


def render_gemini_reply(asked: ModelRequest, answer: ModelReply, new_id: IdFactory) -> object:
    parts = [rendered for part in answer.parts if (rendered := _render_part(part, new_id))]
    return {**_render_chunk(parts, "STOP"), "usageMetadata": _render_usage(answer), "modelVersion": asked.model}


def stream_gemini_reply(asked: ModelRequest, answer: ModelReply, new_id: IdFactory) -> Iterator[StreamPiece]:
    for part in answer.parts:
        match part:
            case ServiceError():
                yield StreamEvent(render_gemini_error(part))
                return
            case Pause() | RawText() | Disconnect():
                yield part
            case _:
                yield StreamEvent({**_render_chunk([_render_part(part, new_id)]), "modelVersion": asked.model})
    yield StreamEvent(
        {**_render_chunk([], "STOP"), "usageMetadata": _render_usage(answer), "modelVersion": asked.model}
    )


def render_gemini_error(failure: ServiceError) -> object:
    kind = GEMINI_ERROR_KINDS.get(failure.status, "INTERNAL" if failure.status >= 500 else "INVALID_ARGUMENT")
    error: dict[str, Any] = {"code": failure.status, "message": failure.message, "status": kind}
    if failure.retry_after is not None:
        delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{failure.retry_after:g}s"}
        error["details"] = [delay]
    return {"error": error}


def _render_chunk(parts: list[dict[str, Any]], reason: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    return {"candidates": [{**candidate, "finishReason": reason} if reason else candidate]}


def _render_part(part: object, new_id: IdFactory) -> dict[str, Any]:
    match part:
        case ReplyText(text, thought):
            return {"text": text, "thought": True} if thought else {"text": text}
        case ToolCall(tool, given):
            return {"functionCall": {"name": tool, "args": given, "id": new_id("")}}
        case _:
            return {}


def _render_usage(answer: ModelReply) -> dict[str, int]:
    tokens = answer.tokens
    taken = tokens.input_tokens + tokens.cache_read_input_tokens
    return {
        "promptTokenCount": taken,
        "candidatesTokenCount": tokens.output_tokens,
        "cachedContentTokenCount": tokens.cache_read_input_tokens,
        "totalTokenCount": taken + tokens.output_tokens,
    }


def _join_text(content: Mapping[str, Any]) -> str:
    return "\n".join(part.get("text") or "" for part in content.get("parts") or ())
