"""Answers for a model: bounded, as plain data; and our errors as tool errors with their hint."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import msgspec
from mcp.server.mcpserver.exceptions import ToolError

from ralph.core.text.plain import sanitize
from ralph.core.text.secrets import redact
from ralph.faces.views.encoding import encode_json
from ralph.model.errors import RalphError

MAX_TOOL_ANSWER_CHARS = 60_000  # clients cut, or refuse, what is much longer
LENGTH_LIMITS = (
    (200, 4000),
    (50, 1000),
    (20, 300),
    (5, 100),
)  # of each list and each text, while the whole is too long
ToolAnswer = dict[str, Any]
_ParamsT = ParamSpec("_ParamsT")


def answer_as_tool(work: Callable[_ParamsT, object]) -> Callable[_ParamsT, ToolAnswer]:
    """The same function, fit to be called by a client: what a user would read as an error, it reads too."""

    @wraps(work)
    def call(*args: _ParamsT.args, **kwargs: _ParamsT.kwargs) -> ToolAnswer:
        try:
            return bound_answer(work(*args, **kwargs))
        except RalphError as error:
            raise ToolError(describe_error(error)) from error

    # Clients are told the parameters as they are here, and that the answer is an object.
    call.__signature__ = inspect.signature(work).replace(return_annotation=ToolAnswer)  # type: ignore[attr-defined]
    return call


def describe_error(error: RalphError) -> str:
    """no run matches 'x' (no_such_run). Hint: see `ralph status`"""
    hint = f" Hint: {error.hint}" if error.hint else ""
    return redact(sanitize(f"{error.message} ({error.code}).{hint}"))


def bound_answer(value: object) -> ToolAnswer:
    """Of lists the last items, of texts the beginning, as much as fits."""
    data = msgspec.json.decode(encode_json(value))
    whole: ToolAnswer = data if isinstance(data, dict) else {"result": data}
    shown = whole
    for items, chars in LENGTH_LIMITS:
        if len(encode_json(shown)) <= MAX_TOOL_ANSWER_CHARS:
            break
        shown = {key: _shorten(each, items, chars) for key, each in whole.items()}
    return shown


def _shorten(value: object, items: int, chars: int) -> object:
    match value:
        case dict():
            return {key: _shorten(each, items, chars) for key, each in value.items()}
        case list() if len(value) > items:
            return [
                f"… {len(value) - items} earlier left out",
                *(_shorten(each, items, chars) for each in value[-items:]),
            ]
        case list():
            return [_shorten(each, items, chars) for each in value]
        case str() if len(value) > chars:
            return f"{value[:chars]}… ({len(value) - chars} more characters)"
    return value
