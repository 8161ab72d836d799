"""OpenAI's Responses."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ralph.devtools.conversation import Answer, Break, Call, Event, Failure, NewId, Pause, Piece, Question, Raw, Text

KINDS = {401: "invalid_api_key", 429: "rate_limit_exceeded", 503: "server_is_overloaded", 529: "server_is_overloaded"}


def question(body: Mapping[str, Any], headers: Mapping[str, str]) -> Question:
    """What is asked. Codex may offer its tools inside the input."""
    given = body.get("input") or []
    items = given if isinstance(given, list) else [{"role": "user", "content": given}]
    offered = [*(body.get("tools") or ()), *(tool for item in items for tool in item.get("tools") or ())]
    words = [_words(item) for item in items if item.get("role") == "user"]
    return Question(
        session=headers.get("session-id") or headers.get("session_id", ""),
        model=body.get("model") or "scripted",
        streams=bool(body.get("stream")),
        tools=frozenset(_names(offered)),
        asked=words[-1] if words else "",
        fresh=not any(item.get("role") == "assistant" or "call" in (item.get("type") or "") for item in items),
    )


def whole(asked: Question, answer: Answer, new_id: NewId) -> object:
    """One response."""
    items = [item for part in answer.parts if (item := _item(part, new_id))]
    return _response(asked, new_id("resp_"), answer, "completed", items)


def stream(asked: Question, answer: Answer, new_id: NewId) -> Iterator[Piece]:
    """A response in pieces."""
    name = new_id("resp_")
    yield _event("response.created", response=_response(asked, name, answer, "in_progress"))
    items: list[dict[str, Any]] = []
    for part in answer.parts:
        if isinstance(part, Failure):
            failed = {"code": _kind(part), "message": part.message}
            response = _response(asked, name, answer, "failed")
            yield _event("response.failed", response={**response, "error": failed})
            return
        if isinstance(part, Pause | Raw | Break):
            yield part
            continue
        item = _item(part, new_id)
        yield from _told(item, len(items))
        items.append(item)
    yield _event("response.completed", response=_response(asked, name, answer, "completed", items))


def error(failure: Failure) -> object:
    """What goes with its status; a usage limit of an account has a kind and a time of its own."""
    told: dict[str, Any] = {"message": failure.message, "type": _kind(failure), "code": _kind(failure), "param": None}
    if failure.reset_at is not None:
        told |= {"type": "usage_limit_reached", "resets_at": int(failure.reset_at)}
    return {"error": told}


def _told(item: Mapping[str, Any], index: int) -> Iterator[Event]:
    if item["type"] != "message":
        yield _event("response.output_item.added", output_index=index, item=item)
        yield _event("response.output_item.done", output_index=index, item=item)
        return
    where = {"item_id": item["id"], "output_index": index, "content_index": 0}
    part = item["content"][0]
    yield _event("response.output_item.added", output_index=index, item={**item, "content": []})
    yield _event("response.content_part.added", **where, part={**part, "text": ""})
    for piece in part["text"].splitlines(keepends=True):
        yield _event("response.output_text.delta", **where, delta=piece)
    yield _event("response.output_text.done", **where, text=part["text"])
    yield _event("response.content_part.done", **where, part=part)
    yield _event("response.output_item.done", output_index=index, item=item)


def _item(part: object, new_id: NewId) -> dict[str, Any]:
    match part:
        case Text(text, thought=True):
            summary = [{"type": "summary_text", "text": text}]
            return {"type": "reasoning", "id": new_id("rs_"), "summary": summary}
        case Text(text):
            content = [{"type": "output_text", "text": text, "annotations": []}]
            return {"type": "message", "role": "assistant", "id": new_id("msg_"), "content": content}
        case Call(tool, str(given)):
            return {"type": "custom_tool_call", "call_id": new_id("call_"), "name": tool, "input": given}
        case Call(tool, given):
            name = new_id("call_")
            arguments = json.dumps(given)
            return {"type": "function_call", "id": f"fc_{name}", "call_id": name, "name": tool, "arguments": arguments}
        case _:
            return {}


def _response(
    asked: Question, name: str, answer: Answer, status: str, items: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    told = {"id": name, "object": "response", "model": asked.model, "status": status, "output": items or []}
    return {**told, "usage": _usage(answer)} if status == "completed" else told


def _usage(answer: Answer) -> dict[str, Any]:
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


def _kind(failure: Failure) -> str:
    return KINDS.get(failure.status, "server_error" if failure.status >= 500 else "invalid_request_error")


def _event(name: str, **fields: object) -> Event:
    return Event({"type": name, **fields}, name)


def _names(tools: list[Mapping[str, Any]]) -> Iterator[str]:
    for tool in tools:
        if "tools" in tool:  # a namespace
            yield from _names(tool["tools"])
        elif "name" in tool:
            yield tool["name"]


def _words(item: Mapping[str, Any]) -> str:
    content = item.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content)
