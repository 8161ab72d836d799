"""Turns a rejected setting into one sentence: file, line, key, what was expected and what was found."""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from ralph.config import schema
from ralph.config.lines import KeyPath, find_line, locate_offset
from ralph.config.schema import Layer
from ralph.core.text.secrets import redact_argv
from ralph.model.errors import ConfigError

_PLACE_PATTERN = re.compile(r" - at (`key` in )?`\$(.*)`$")
_STEP_PATTERN = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_MISSING_PATTERN = re.compile(r"missing required field `(.+?)`")
_MALFORMED_PATTERN = re.compile(r"malformed: (.*) \(byte (\d+)\)$")
_MAX_VALUE_CHARS = 60
_EXPECTED_WORDS = {
    schema.NON_BLANK_PATTERN: "a non-blank string",
    schema.EMPTY_OR_TEXT_PATTERN: "a program's name",
    schema.NO_NUL_PATTERN: "a string",
    schema.VARIABLE_PATTERN: "the name of an environment variable",
    schema.SIGNAL_PATTERN: '"response", "promise" or "file:PATH"',
    schema.WEBHOOK_PATTERN: "an address such as https://example.org/hook",
    schema.APPRISE_PATTERN: "an address of apprise, such as tgram://TOKEN/CHAT",
    "boolean": "true or false",
    "object": "an object",
    "string": "a string",
    "null": "null",
}
_EXPECTED_AT = {  # keys that may be written short
    ("agent",): "a program's name or an object",
    ("guardrails",): "a list of commands or objects",
    ("guardrails", 0): "a command or an object",
}

_TYPE_WORDS = {
    dict: "an object",
    list: "a list",
    int: "a number",
    float: "a number",
    bool: "true or false",
    str: "a string",
}


def build_rejection_error(reason: str, layer: Layer) -> ConfigError:
    """The error for what msgspec did not accept in this layer."""
    path = _parse_path(reason)
    found = _get_value_at(layer.raw, path)
    if missing := _MISSING_PATTERN.search(reason):
        return _build_error(layer, path, key=(*path, missing[1]), got="nothing")
    if isinstance(found, Mapping) and path[-1:] == ("environment",):  # msgspec does not say which entry it means
        return _build_entry_error(layer, path, found)
    beyond = "<=" in reason or "out of range" in reason
    return _build_error(
        layer, path, key=path, got=_describe_value(found), expected=_describe_expected(path, beyond=beyond)
    )


def build_quotation_error(layer: Layer, flags: Sequence[str], index: int) -> ConfigError:
    """The error for a flag that no shell could split."""
    path: KeyPath = ("agent", "flags", index)
    error = _build_error(
        layer, path, key=path, got=_describe_value(redact_argv(flags)[index]), expected="quotation marks in pairs"
    )
    return ConfigError(error.message, "close the quotes, or put a backslash before a literal quote")


def build_missing_command_error(layer: Layer, index: int) -> ConfigError:
    """The error for a shell guardrail that does not say what to run."""
    path: KeyPath = ("guardrails", index)
    return _build_error(layer, path, key=(*path, "command"), got="nothing")


def build_syntax_error(name: str, text: str, offset: int, problem: str) -> ConfigError:
    """The error for a file that cannot be read at all, with line and column."""
    line, column = locate_offset(text, offset)
    return ConfigError(f"{name}:{line}:{column}: {problem}")


def build_malformed_error(name: str, text: str, reason: str) -> ConfigError:
    """The error for text that is not JSON, out of the decoder's own words."""
    if not text.strip():
        return ConfigError(f"{name}: the file is empty", f"an empty settings file is: {{}}; or delete {name}")
    if found := _MALFORMED_PATTERN.search(reason):
        before = text.encode()[: int(found[2])].decode(errors="replace")
        return build_syntax_error(name, text, len(before), f"not JSON: {found[1]}")
    if "truncated" in reason:
        return build_syntax_error(name, text, len(text.rstrip()), "not JSON: it ends too early")
    return ConfigError(f"{name}: not JSON: {_PLACE_PATTERN.sub('', reason).lower()}")


def build_not_an_object_error(name: str, value: object) -> ConfigError:
    """The error for a file that holds something else."""
    return ConfigError(f"{name}: expected an object, got {_describe_value(value)}", "an empty settings file is: {}")


def describe_unknown_key(name: str, where: str, key: str, known: Sequence[str]) -> str:
    """The warning for a key nobody reads."""
    import difflib

    near = difflib.get_close_matches(key, known, n=1)
    guess = f': did you mean "{where}{near[0]}"?' if near else ""
    return f'unknown key "{where}{key}" in {name}{guess}'


def _build_entry_error(layer: Layer, path: KeyPath, entries: Mapping[str, object]) -> ConfigError:
    """What is wrong with a mapping of variables. Values may be secrets: they are not shown."""
    for name, value in entries.items():
        if not isinstance(value, str) or "\0" in value:
            got = "text with a NUL in it" if isinstance(value, str) else _TYPE_WORDS.get(type(value), "null")
            return _build_error(layer, (*path, name), key=(*path, name), got=got)
    names = [name for name in entries if not re.search(schema.VARIABLE_PATTERN, name)]
    return _build_error(
        layer,
        (*path, *names[:1]),
        key=path,
        got=_describe_value("".join(names[:1])),
        expected=_EXPECTED_WORDS[schema.VARIABLE_PATTERN],
    )


def _build_error(layer: Layer, place: KeyPath, *, key: KeyPath, got: str, expected: str = "") -> ConfigError:
    def in_file(path: KeyPath) -> KeyPath:
        return (layer.root, *path[1:]) if layer.root else path

    line = find_line(layer.text, in_file(place))
    where = f"{layer.name}:{line}" if line else layer.name
    parts = [where, _format_path(in_file(key)), f"expected {expected or _describe_expected(key)}, got {got}"]
    return ConfigError(": ".join(filter(None, parts)))


def _parse_path(reason: str) -> KeyPath:
    place = _PLACE_PATTERN.search(reason)
    return tuple(name or int(index) for name, index in _STEP_PATTERN.findall(place[2])) if place else ()


def _get_value_at(raw: object, path: KeyPath) -> object:
    for step in path:
        if isinstance(raw, Mapping):
            raw = raw.get(step)
        elif isinstance(raw, (list, tuple)) and isinstance(step, int):
            raw = raw[step]
    return raw


def _format_path(path: KeyPath) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _describe_value(value: object) -> str:
    if isinstance(value, float) and not isfinite(value):  # JSON has no word for it
        return str(value)
    if isinstance(value, int) and value.bit_length() > 63:
        return str(value) if value.bit_length() < 200 else "a number with over 60 digits"
    if isinstance(value, str | bool | int | float | None):
        text = msgspec.json.encode(value).decode()
        return text if len(text) <= _MAX_VALUE_CHARS else text[: _MAX_VALUE_CHARS - 1] + "…"
    return _TYPE_WORDS.get(type(value), f"a {type(value).__name__}") if value != [] else "an empty list"


def _describe_expected(path: KeyPath, *, beyond: bool = False) -> str:
    """What may stand there, in words, from the schema itself; the most of it only for who went beyond."""
    if words := _EXPECTED_AT.get(tuple(0 if isinstance(step, int) else step for step in path)):
        return words
    document = msgspec.json.schema(schema.Settings)
    node = resolve_schema_node(document, document)
    for step in path:
        inner = node.get("items") if isinstance(step, int) else node.get("properties", {}).get(step)
        node = resolve_schema_node(inner or node.get("additionalProperties") or node, document)
    most = f" and ≤ {node['maximum']:,.0f}" if beyond and "maximum" in node else ""
    return _describe_node(node, document) + most


def build_settings_schema() -> dict[str, Any]:
    """The JSON Schema of what people may write."""
    document = msgspec.json.schema(schema.Settings)
    for key in schema.FILLED_AGENT_KEYS:
        del document["$defs"]["AgentSettings"]["properties"][key]
    return document


def resolve_schema_node(node: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """The node itself, behind references and "or null"."""
    if "$ref" in node:
        return resolve_schema_node(document["$defs"][node["$ref"].rsplit("/", 1)[1]], document)
    if "anyOf" in node:
        return resolve_schema_node(next(option for option in node["anyOf"] if option.get("type") != "null"), document)
    return node


def _describe_node(node: dict[str, Any], document: dict[str, Any]) -> str:
    match node:
        case {"enum": choices}:
            return "one of " + ", ".join(map(str, choices))
        case {"pattern": pattern}:
            return _EXPECTED_WORDS[pattern]
        case {"type": "array", "items": items}:
            least = ", at least one" if "minItems" in node else ""
            item = _describe_node(resolve_schema_node(items, document), document)
            return f"a list of {_pluralize_phrase(item)}{least}"
        case {"type": "integer" | "number" as kind}:
            return ("an integer" if kind == "integer" else "a number") + _describe_bound(node)
        case {"type": kind}:
            return _EXPECTED_WORDS[kind]
    raise AssertionError(f"no words for {node!r}")


def _describe_bound(node: dict[str, Any]) -> str:
    if "minimum" in node:
        return f" ≥ {node['minimum']}"
    return f" > {node['exclusiveMinimum']:g}" if "exclusiveMinimum" in node else ""


def _pluralize_phrase(phrase: str) -> str:
    plain = phrase.removeprefix("an ").removeprefix("a ")
    return plain + "s" if plain != phrase else plain
