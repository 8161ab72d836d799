"""OpenAI's Responses."""

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

OPENAI_ERROR_KINDS = {
    401: "invalid_api_key",
    429: "rate_limit_exceeded",
    503: "server_is_overloaded",
    529: "server_is_overloaded",
}


def parse_responses_request(body: Mapping[str, Any], headers: Mapping[str, str]) -> ModelRequest:
    """What is asked. Codex may offer its tools inside the input."""
    given = body.get("input") or []
    items = given if isinstance(given, list) else [{"role": "user", "content": given}]
    offered = [*(body.get("tools") or ()), *(tool for item in items for tool in item.get("tools") or ())]
    words = [_join_text(item) for item in items if item.get("role") == "user"]
    return ModelRequest(
        session=headers.get("session-id") or headers.get("session_id", ""),
        model=body.get("model") or "scripted",
        streams=bool(body.get("stream")),
        tools=frozenset(_iterate_tool_names(offered)),
        asked=words[-1] if words else "",
        fresh=not any(item.get("role") == "assistant" or "call" in (item.get("type") or "") for item in items),
    )


def render_responses_reply(asked: ModelRequest, answer: ModelReply, new_id: IdFactory) -> object:
    items = [item for part in answer.parts if (item := _render_item(part, new_id))]
    return _render_response(asked, new_id("resp_"), answer=answer, status="completed", items=items)


def stream_responses_reply(asked: ModelRequest, answer: ModelReply, new_id: IdFactory) -> Iterator[StreamPiece]:
    name = new_id("resp_")
    yield _build_event("response.created", response=_render_response(asked, name, answer=answer, status="in_progress"))
    items: list[dict[str, Any]] = []
    for part in answer.parts:
        if isinstance(part, ServiceError):
            failed = {"code": _get_error_kind(part), "message": part.message}
            response = _render_response(asked, name, answer=answer, status="failed")
            yield _build_event("response.failed", response={**response, "error": failed})
            return
        if isinstance(part, Pause | RawText | Disconnect):
            yield part
            continue
        item = _render_item(part, new_id)
        yield from _iterate_item_events(item, len(items))
        items.append(item)
    yield _build_event(
        "response.completed", response=_render_response(asked, name, answer=answer, status="completed", items=items)
    )


def render_openai_error(failure: ServiceError) -> object:
    """What goes with its status; a usage limit of an account has a kind and a time of its own."""
    error: dict[str, Any] = {
        "message": failure.message,
        "type": _get_error_kind(failure),
        "code": _get_error_kind(failure),
        "param": None,
    }
    if failure.reset_at is not None:
        error |= {"type": "usage_limit_reached", "resets_at": int(failure.reset_at)}
    return {"error": error}


def _iterate_item_events(item: Mapping[str, Any], index: int) -> Iterator[StreamEvent]:
    if item["type"] != "message":
        yield _build_event("response.output_item.added", output_index=index, item=item)
        yield _build_event("response.output_item.done", output_index=index, item=item)
        return
    where = {"item_id": item["id"], "output_index": index, "content_index": 0}
    part = item["content"][0]
    yield _build_event("response.output_item.added", output_index=index, item={**item, "content": []})
    yield _build_event("response.content_part.added", **where, part={**part, "text": ""})
    for piece in part["text"].splitlines(keepends=True):
        yield _build_event("response.output_text.delta", **where, delta=piece)
    yield _build_event("response.output_text.done", **where, text=part["text"])
    yield _build_event("response.content_part.done", **where, part=part)
    yield _build_event("response.output_item.done", output_index=index, item=item)


def _render_item(part: object, new_id: IdFactory) -> dict[str, Any]:
    match part:
        case ReplyText(text, thought=True):
            summary = [{"type": "summary_text", "text": text}]
            return {"type": "reasoning", "id": new_id("rs_"), "summary": summary}
        case ReplyText(text):
            content = [{"type": "output_text", "text": text, "annotations": []}]
            return {"type": "message", "role": "assistant", "id": new_id("msg_"), "content": content}
        case ToolCall(tool, str(given)):
            return {"type": "custom_tool_call", "call_id": new_id("call_"), "name": tool, "input": given}
        case ToolCall(tool, given):
            name = new_id("call_")
            arguments = json.dumps(given)
            return {"type": "function_call", "id": f"fc_{name}", "call_id": name, "name": tool, "arguments": arguments}
        case _:
            return {}


def _render_response(
    asked: ModelRequest, name: str, *, answer: ModelReply, status: str, items: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    response = {"id": name, "object": "response", "model": asked.model, "status": status, "output": items or []}
    return {**response, "usage": _render_usage(answer)} if status == "completed" else response


def _render_usage(answer: ModelReply) -> dict[str, Any]:
    tokens = answer.tokens
    cached, written = tokens.cache_read_input_tokens, tokens.cache_creation_input_tokens
    taken = tokens.input_tokens + cached + written  # OpenAI counts what was cached as input too
    return {
        "input_tokens": taken,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": tokens.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": taken + tokens.output_tokens,
    }


def _get_error_kind(failure: ServiceError) -> str:
    return OPENAI_ERROR_KINDS.get(failure.status, "server_error" if failure.status >= 500 else "invalid_request_error")


def _build_event(name: str, **fields: object) -> StreamEvent:
    return StreamEvent({"type": name, **fields}, name)


def _iterate_tool_names(tools: list[Mapping[str, Any]]) -> Iterator[str]:
    for tool in tools:
        if "tools" in tool:  # a namespace
            yield from _iterate_tool_names(tool["tools"])
        elif "name" in tool:
            yield tool["name"]


def _join_text(item: Mapping[str, Any]) -> str:
    content = item.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content)
