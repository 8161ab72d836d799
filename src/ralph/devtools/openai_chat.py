"""OpenAI's Chat Completions, which many others speak."""

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
from ralph.devtools.openai_responses import render_openai_error

__all__ = ["parse_chat_request", "render_chat_reply", "render_openai_error", "stream_chat_reply"]
SESSION_HEADERS = ("x-session-id", "x-session-affinity", "x-opencode-session")


def parse_chat_request(body: Mapping[str, Any], headers: Mapping[str, str]) -> ModelRequest:
    messages = body.get("messages") or []
    tools = (tool.get("function") or {} for tool in body.get("tools") or ())
    words = [_join_text(message) for message in messages if message.get("role") == "user"]
    return ModelRequest(
        session=next((headers[name] for name in SESSION_HEADERS if name in headers), ""),
        model=body.get("model") or "scripted",
        streams=bool(body.get("stream")),
        tools=frozenset(tool["name"] for tool in tools if "name" in tool),
        asked=words[-1] if words else "",
        fresh=not any(message.get("role") == "assistant" for message in messages),
    )


def render_chat_reply(asked: ModelRequest, answer: ModelReply, new_id: IdFactory) -> object:
    texts = [part.text for part in answer.parts if isinstance(part, ReplyText) and not part.thought]
    message: dict[str, Any] = {"role": "assistant", "content": "\n".join(texts)}
    if calls := [_render_call(part, new_id) for part in answer.parts if isinstance(part, ToolCall)]:
        message["tool_calls"] = calls
    choice = {"index": 0, "finish_reason": _get_finish_reason(answer), "message": message}
    return {**_render_head(asked, new_id, "chat.completion"), "choices": [choice], "usage": _render_usage(answer)}


def stream_chat_reply(asked: ModelRequest, answer: ModelReply, new_id: IdFactory) -> Iterator[StreamPiece]:
    head = _render_head(asked, new_id, "chat.completion.chunk")

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> StreamEvent:
        return StreamEvent({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield chunk({"role": "assistant", "content": ""})
    calls = 0
    for part in answer.parts:
        match part:
            case ServiceError():
                yield StreamEvent(render_openai_error(part))
                return
            case Pause() | RawText() | Disconnect():
                yield part
            case ReplyText(text, thought):
                yield chunk({"reasoning_content" if thought else "content": text})
            case ToolCall():
                yield chunk({"tool_calls": [{"index": calls, **_render_call(part, new_id)}]})
                calls += 1
    yield chunk({}, _get_finish_reason(answer))
    yield StreamEvent({**head, "choices": [], "usage": _render_usage(answer)})
    yield StreamEvent("[DONE]")


def _render_head(asked: ModelRequest, new_id: IdFactory, kind: str) -> dict[str, Any]:
    return {"id": new_id("chatcmpl-"), "object": kind, "created": 0, "model": asked.model}


def _render_call(call: ToolCall, new_id: IdFactory) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": json.dumps(call.given)}
    return {"id": new_id("call_"), "type": "function", "function": function}


def _get_finish_reason(answer: ModelReply) -> str:
    return "tool_calls" if answer.has_tool_calls else "stop"


def _render_usage(answer: ModelReply) -> dict[str, Any]:
    tokens = answer.tokens
    taken = tokens.input_tokens + tokens.cache_read_input_tokens
    return {
        "prompt_tokens": taken,
        "completion_tokens": tokens.output_tokens,
        "total_tokens": taken + tokens.output_tokens,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read_input_tokens},
    }


def _join_text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content)
