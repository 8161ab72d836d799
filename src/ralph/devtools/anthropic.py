"""Anthropic's Messages."""

import json
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

ANTHROPIC_ERROR_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
ANTHROPIC_TOKEN_COUNT = {"input_tokens": 1000}


def parse_anthropic_request(body: Mapping[str, Any], headers: Mapping[str, str]) -> ModelRequest:
    messages = body.get("messages") or []
    words = [_join_text(message) for message in messages if message.get("role") == "user"]
    return ModelRequest(
        session=headers.get("x-claude-code-session-id", ""),
        model=body.get("model") or "scripted",
        streams=bool(body.get("stream")),
        tools=frozenset(tool["name"] for tool in body.get("tools") or () if "name" in tool),
        asked=words[-1] if words else "",
        fresh=not any(message.get("role") == "assistant" for message in messages),
    )


def render_anthropic_reply(asked: ModelRequest, answer: ModelReply, new_id: IdFactory) -> object:
    return {
        "id": new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [block for part in answer.parts if (block := _render_block(part, new_id))],
        "stop_reason": "tool_use" if answer.has_tool_calls else "end_turn",
        "stop_sequence": None,
        "usage": _render_usage(answer),
    }


def stream_anthropic_reply(asked: ModelRequest, answer: ModelReply, new_id: IdFactory) -> Iterator[StreamPiece]:
    """A message in pieces, words one by one."""
    message = {"id": new_id("msg_"), "type": "message", "role": "assistant", "model": asked.model}
    empty: dict[str, Any] = {"content": [], "stop_reason": None, "stop_sequence": None}
    yield _build_event(
        "message_start", message={**message, **empty, "usage": {**_render_usage(answer), "output_tokens": 1}}
    )
    index = 0
    for part in answer.parts:
        if isinstance(part, ServiceError):
            yield StreamEvent(render_anthropic_error(part), "error")
            return
        if isinstance(part, Pause | RawText | Disconnect):
            yield part
            continue
        block = _render_block(part, new_id)
        yield _build_event("content_block_start", index=index, content_block=_render_opening(block))
        for delta in _iterate_deltas(block):
            yield _build_event("content_block_delta", index=index, delta=delta)
        yield _build_event("content_block_stop", index=index)
        index += 1
    stop = "tool_use" if answer.has_tool_calls else "end_turn"
    yield _build_event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=_render_usage(answer))
    yield _build_event("message_stop")


def render_anthropic_error(failure: ServiceError) -> object:
    kind = ANTHROPIC_ERROR_KINDS.get(failure.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": failure.message}}


def _build_event(name: str, **fields: object) -> StreamEvent:
    return StreamEvent({"type": name, **fields}, name)


def _render_block(part: object, new_id: IdFactory) -> dict[str, Any]:
    match part:
        case ReplyText(text, thought=True):
            return {"type": "thinking", "thinking": text, "signature": "c2NyaXB0ZWQ="}
        case ReplyText(text):
            return {"type": "text", "text": text}
        case ToolCall(tool, given):
            return {"type": "tool_use", "id": new_id("toolu_"), "name": tool, "input": given}
        case _:
            return {}


def _render_opening(block: Mapping[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "thinking":
            return {**block, "thinking": "", "signature": ""}
        case "text":
            return {**block, "text": ""}
        case _:
            return {**block, "input": {}}


def _iterate_deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "text":
            for piece in block["text"].splitlines(keepends=True) or [""]:
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            yield {"type": "thinking_delta", "thinking": block["thinking"]}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case _:
            yield {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}


def _render_usage(answer: ModelReply) -> dict[str, int]:
    tokens = answer.tokens
    return {
        "input_tokens": tokens.input_tokens,
        "output_tokens": tokens.output_tokens,
        "cache_read_input_tokens": tokens.cache_read_input_tokens,
        "cache_creation_input_tokens": tokens.cache_creation_input_tokens,
    }


def _join_text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text") or "" for block in content)
