"""The API's own description, made from its routes and the types of their answers."""

import re
from collections.abc import Sequence

import msgspec

from ralph._version import VERSION
from ralph.faces.views.shapes import BoardAnswer, BoardChange, ErrorAnswer, LogLines
from ralph.faces.web.answers import Endpoint

API_ROOT = "/api/v1"
REPOSITORY_QUERY = ("repository", "The key of another repository of this machine, with `ralph web --all`.")
_PATH_NAME = re.compile(r"\{(\w+)\}")
_EVENTS_TEXT = (
    "Server-sent events. `reset`: the whole board, first, and after too long an absence (BoardAnswer). `change`: what"
    " is new on it (BoardChange). `log`: new lines (LogLines). After a reconnect with Last-Event-ID, or `after=`, the"
    " stream continues without loss."
)


def build_openapi(endpoints: Sequence[Endpoint]) -> dict[str, object]:
    """OpenAPI 3.1."""
    types: list[type] = [each.answer for each in endpoints]
    types += [each.body for each in endpoints if each.body is not None]
    types += [ErrorAnswer, BoardAnswer, BoardChange, LogLines]
    unique = [*dict.fromkeys(types)]
    schemas, components = msgspec.json.schema_components(
        unique, schema_hook=_describe_other, ref_template="#/components/schemas/{name}"
    )
    by_type = dict(zip(unique, schemas, strict=True))
    paths: dict[str, dict[str, object]] = {}
    for each in endpoints:
        paths.setdefault(f"{API_ROOT}/{each.path}", {})[each.method.lower()] = _describe_endpoint(each, by_type)
    paths[f"{API_ROOT}/events"] = {"get": _describe_events(by_type)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "ralph", "version": VERSION, "description": "See and steer the loops of a repository."},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _describe_endpoint(each: Endpoint, by_type: dict[type, dict[str, object]]) -> dict[str, object]:
    names = [_describe_parameter(name, "path", "") for name in _PATH_NAME.findall(each.path)]
    query = [_describe_parameter(name, "query", text) for name, text in (*each.query, REPOSITORY_QUERY)]
    described: dict[str, object] = {
        "summary": each.summary,
        "parameters": [*names, *query],
        "responses": {
            "200": _describe_content("The answer.", by_type[each.answer]),
            "default": _describe_content("What went wrong.", by_type[ErrorAnswer]),
        },
    }
    if each.body is not None:
        described["requestBody"] = {**_describe_content("", by_type[each.body]), "required": True}
    return described


def _describe_events(by_type: dict[type, dict[str, object]]) -> dict[str, object]:
    after = _describe_parameter("after", "query", "The id of the last event that was seen.")
    kinds = {"oneOf": [by_type[BoardAnswer], by_type[BoardChange], by_type[LogLines]]}
    return {
        "summary": "What happens, as it happens",
        "description": _EVENTS_TEXT,
        "parameters": [after, _describe_parameter(REPOSITORY_QUERY[0], "query", REPOSITORY_QUERY[1])],
        "responses": {"200": {"description": "A stream.", "content": {"text/event-stream": {"schema": kinds}}}},
    }


def _describe_parameter(name: str, place: str, text: str) -> dict[str, object]:
    described: dict[str, object] = {"name": name, "in": place, "schema": {"type": "string"}}
    return {**described, **({"required": True} if place == "path" else {}), **({"description": text} if text else {})}


def _describe_content(text: str, schema: dict[str, object]) -> dict[str, object]:
    return {**({"description": text} if text else {}), "content": {"application/json": {"schema": schema}}}


def _describe_other(type_: type) -> dict[str, object]:
    """`object`: whatever JSON there is."""
    return {"description": "any JSON"}
