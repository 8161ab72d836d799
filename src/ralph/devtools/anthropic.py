"""Anthropic's Messages."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ralph.devtools.conversation import Answer, Break, Call, Event, Failure, NewId, Pause, Piece, Question, Raw, Text

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
COUNTED = {"input_tokens": 1000}


def question(body: Mapping[str, Any], headers: Mapping[str, str]) -> Question:
    """What is asked."""
    messages = body.get("messages") or []
    words = [_words(message) for message in messages if message.get("role") == "user"]
    return Question(
        session=headers.get("x-claude-code-session-id", ""),
        model=body.get("model") or "scripted",
        streams=bool(body.get("stream")),
        tools=frozenset(tool["name"] for tool in body.get("tools") or () if "name" in tool),
        asked=words[-1] if words else "",
        fresh=not any(message.get("role") == "assistant" for message in messages),
    )


def whole(asked: Question, answer: Answer, new_id: NewId) -> object:
    """One message."""
    return {
        "id": new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [block for part in answer.parts if (block := _block(part, new_id))],
        "stop_reason": "tool_use" if answer.calls_tools else "end_turn",
        "stop_sequence": None,
        "usage": _usage(answer),
    }


def stream(asked: Question, answer: Answer, new_id: NewId) -> Iterator[Piece]:
    """A message in pieces, words one by one."""
    message = {"id": new_id("msg_"), "type": "message", "role": "assistant", "model": asked.model}
    empty: dict[str, Any] = {"content": [], "stop_reason": None, "stop_sequence": None}
    yield _event("message_start", message={**message, **empty, "usage": {**_usage(answer), "output_tokens": 1}})
    index = 0
    for part in answer.parts:
        if isinstance(part, Failure):
            yield Event(error(part), "error")
            return
        if isinstance(part, Pause | Raw | Break):
            yield part
            continue
        block = _block(part, new_id)
        yield _event("content_block_start", index=index, content_block=_opened(block))
        for delta in _deltas(block):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
        index += 1
    stop = "tool_use" if answer.calls_tools else "end_turn"
    yield _event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=_usage(answer))
    yield _event("message_stop")


def error(failure: Failure) -> object:
    """What goes with its status."""
    kind = KINDS.get(failure.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": failure.message}}


def _event(name: str, **fields: object) -> Event:
    return Event({"type": name, **fields}, name)


def _block(part: object, new_id: NewId) -> dict[str, Any]:
    match part:
        case Text(text, thought=True):
            return {"type": "thinking", "thinking": text, "signature": "c2NyaXB0ZWQ="}
        case Text(text):
            return {"type": "text", "text": text}
        case Call(tool, given):
            return {"type": "tool_use", "id": new_id("toolu_"), "name": tool, "input": given}
        case _:
            return {}


def _opened(block: Mapping[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "thinking":
            return {**block, "thinking": "", "signature": ""}
        case "text":
            return {**block, "text": ""}
        case _:
            return {**block, "input": {}}


def _deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "text":
            for piece in block["text"].splitlines(keepends=True) or [""]:
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            yield {"type": "thinking_delta", "thinking": block["thinking"]}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case _:
            yield {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}


def _usage(answer: Answer) -> dict[str, int]:
    tokens = answer.tokens
    return {
        "input_tokens": tokens.input_tokens,
        "output_tokens": tokens.output_tokens,
        "cache_read_input_tokens": tokens.cache_read_input_tokens,
        "cache_creation_input_tokens": tokens.cache_creation_input_tokens,
    }


def _words(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text") or "" for block in content)
