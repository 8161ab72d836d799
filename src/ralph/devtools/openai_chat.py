"""OpenAI's Chat Completions, which many others speak."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ralph.devtools.conversation import Answer, Break, Call, Event, Failure, NewId, Pause, Piece, Question, Raw, Text
from ralph.devtools.openai_responses import error

__all__ = ["error", "question", "stream", "whole"]
SESSIONS = ("x-session-id", "x-session-affinity", "x-opencode-session")


def question(body: Mapping[str, Any], headers: Mapping[str, str]) -> Question:
    """What is asked."""
    messages = body.get("messages") or []
    tools = (tool.get("function") or {} for tool in body.get("tools") or ())
    words = [_words(message) for message in messages if message.get("role") == "user"]
    return Question(
        session=next((headers[name] for name in SESSIONS if name in headers), ""),
        model=body.get("model") or "scripted",
        streams=bool(body.get("stream")),
        tools=frozenset(tool["name"] for tool in tools if "name" in tool),
        asked=words[-1] if words else "",
        fresh=not any(message.get("role") == "assistant" for message in messages),
    )


def whole(asked: Question, answer: Answer, new_id: NewId) -> object:
    """One completion."""
    texts = [part.text for part in answer.parts if isinstance(part, Text) and not part.thought]
    message: dict[str, Any] = {"role": "assistant", "content": "\n".join(texts)}
    if calls := [_call(part, new_id) for part in answer.parts if isinstance(part, Call)]:
        message["tool_calls"] = calls
    choice = {"index": 0, "finish_reason": _reason(answer), "message": message}
    return {**_head(asked, new_id, "chat.completion"), "choices": [choice], "usage": _usage(answer)}


def stream(asked: Question, answer: Answer, new_id: NewId) -> Iterator[Piece]:
    """A completion in pieces."""
    head = _head(asked, new_id, "chat.completion.chunk")

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> Event:
        return Event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield chunk({"role": "assistant", "content": ""})
    calls = 0
    for part in answer.parts:
        match part:
            case Failure():
                yield Event(error(part))
                return
            case Pause() | Raw() | Break():
                yield part
            case Text(text, thought):
                yield chunk({"reasoning_content" if thought else "content": text})
            case Call():
                yield chunk({"tool_calls": [{"index": calls, **_call(part, new_id)}]})
                calls += 1
    yield chunk({}, _reason(answer))
    yield Event({**head, "choices": [], "usage": _usage(answer)})
    yield Event("[DONE]")


def _head(asked: Question, new_id: NewId, kind: str) -> dict[str, Any]:
    return {"id": new_id("chatcmpl-"), "object": kind, "created": 0, "model": asked.model}


def _call(call: Call, new_id: NewId) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": json.dumps(call.given)}
    return {"id": new_id("call_"), "type": "function", "function": function}


def _reason(answer: Answer) -> str:
    return "tool_calls" if answer.calls_tools else "stop"


def _usage(answer: Answer) -> dict[str, Any]:
    tokens = answer.tokens
    taken = tokens.input_tokens + tokens.cache_read_input_tokens
    return {
        "prompt_tokens": taken,
        "completion_tokens": tokens.output_tokens,
        "total_tokens": taken + tokens.output_tokens,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read_input_tokens},
    }


def _words(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content)
