"""Turns a rejected setting into one sentence: file, line, key, what was expected and what was found."""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from ralph.config import schema
from ralph.config.lines import Path, line_and_column, line_of
from ralph.config.schema import Layer
from ralph.core.text.secrets import hidden_words
from ralph.model.errors import ConfigError

_PLACE = re.compile(r" - at (`key` in )?`\$(.*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_MISSING = re.compile(r"missing required field `(.+?)`")
_MALFORMED = re.compile(r"malformed: (.*) \(byte (\d+)\)$")
_LONGEST = 60
_WORDS = {
    schema.NON_BLANK: "a non-blank string",
    schema.EMPTY_OR_TEXT: "a program's name",
    schema.NO_NUL: "a string",
    schema.VARIABLE: "the name of an environment variable",
    schema.SIGNAL: '"response", "promise" or "file:PATH"',
    "boolean": "true or false",
    "object": "an object",
    "string": "a string",
    "null": "null",
}

_TYPES = {dict: "an object", list: "a list", int: "a number", float: "a number", bool: "true or false", str: "a string"}


def complaint(reason: str, layer: Layer) -> ConfigError:
    """The error for what msgspec did not accept in this layer."""
    path = _path(reason)
    found = _at(layer.raw, path)
    if missing := _MISSING.search(reason):
        return _error(layer, path, (*path, missing[1]), "nothing")
    if isinstance(found, Mapping) and path[-1:] == ("environment",):  # msgspec does not say which entry it means
        return _odd_entry(layer, path, found)
    beyond = "<=" in reason or "out of range" in reason
    return _error(layer, path, path, _described(found), _expected(path, beyond=beyond))


def open_quotation(layer: Layer, flags: Sequence[str], index: int) -> ConfigError:
    """The error for a flag that no shell could split."""
    path: Path = ("agent", "flags", index)
    error = _error(layer, path, path, _described(hidden_words(flags)[index]), "quotation marks in pairs")
    return ConfigError(error.message, "close the quotation, or put a backslash before a mark that is none")


def syntax_error(name: str, text: str, offset: int, problem: str) -> ConfigError:
    """The error for a file that cannot be read at all, with line and column."""
    line, column = line_and_column(text, offset)
    return ConfigError(f"{name}:{line}:{column}: {problem}")


def malformed(name: str, text: str, reason: str) -> ConfigError:
    """The error for text that is not JSON, out of the decoder's own words."""
    if not text.strip():
        return ConfigError(f"{name}: the file is empty", f"an empty settings file is: {{}}; or delete {name}")
    if found := _MALFORMED.search(reason):
        before = text.encode()[: int(found[2])].decode(errors="replace")
        return syntax_error(name, text, len(before), f"not JSON: {found[1]}")
    if "truncated" in reason:
        return syntax_error(name, text, len(text.rstrip()), "not JSON: it ends too early")
    return ConfigError(f"{name}: not JSON: {_PLACE.sub('', reason).lower()}")


def not_an_object(name: str, value: object) -> ConfigError:
    """The error for a file that holds something else."""
    return ConfigError(f"{name}: expected an object, got {_described(value)}", "an empty settings file is: {}")


def unknown_key(name: str, where: str, key: str, known: Sequence[str]) -> str:
    """The warning for a key nobody reads."""
    import difflib

    near = difflib.get_close_matches(key, known, n=1)
    guess = f': did you mean "{where}{near[0]}"?' if near else ""
    return f'unknown key "{where}{key}" in {name}{guess}'


def _odd_entry(layer: Layer, path: Path, entries: Mapping[str, object]) -> ConfigError:
    """What is wrong with a mapping of variables. Values may be secrets: they are not shown."""
    for name, value in entries.items():
        if not isinstance(value, str) or "\0" in value:
            got = "text with a NUL in it" if isinstance(value, str) else _TYPES.get(type(value), "null")
            return _error(layer, (*path, name), (*path, name), got)
    names = [name for name in entries if not re.search(schema.VARIABLE, name)]
    return _error(layer, (*path, *names[:1]), path, _described("".join(names[:1])), _WORDS[schema.VARIABLE])


def _error(layer: Layer, place: Path, key: Path, got: str, expected: str = "") -> ConfigError:
    def in_file(path: Path) -> Path:
        return (layer.root, *path[1:]) if layer.root else path

    line = line_of(layer.text, in_file(place))
    where = f"{layer.name}:{line}" if line else layer.name
    parts = [where, _shown(in_file(key)), f"expected {expected or _expected(key)}, got {got}"]
    return ConfigError(": ".join(filter(None, parts)))


def _path(reason: str) -> Path:
    place = _PLACE.search(reason)
    return tuple(name or int(index) for name, index in _STEP.findall(place[2])) if place else ()


def _at(raw: object, path: Path) -> object:
    for step in path:
        if isinstance(raw, Mapping):
            raw = raw.get(step)
        elif isinstance(raw, (list, tuple)) and isinstance(step, int):
            raw = raw[step]
    return raw


def _shown(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _described(value: object) -> str:
    if isinstance(value, float) and not isfinite(value):  # JSON has no word for it
        return str(value)
    if isinstance(value, int) and value.bit_length() > 63:
        return str(value) if value.bit_length() < 200 else "a number with over 60 digits"
    if isinstance(value, str | bool | int | float | None):
        text = msgspec.json.encode(value).decode()
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return _TYPES.get(type(value), f"a {type(value).__name__}") if value != [] else "an empty list"


def _expected(path: Path, *, beyond: bool = False) -> str:
    """What may stand there, in words, from the schema itself; the most of it only for who went beyond."""
    document = msgspec.json.schema(schema.Settings)
    node = _resolved(document, document)
    for step in path:
        inner = node.get("items") if isinstance(step, int) else node.get("properties", {}).get(step)
        node = _resolved(inner or node.get("additionalProperties") or node, document)
    most = f" and ≤ {node['maximum']:,.0f}" if beyond and "maximum" in node else ""
    return _phrase(node, document) + most


def _resolved(node: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """The node itself, behind references and "or null"."""
    if "$ref" in node:
        return _resolved(document["$defs"][node["$ref"].rsplit("/", 1)[1]], document)
    if "anyOf" in node:
        return _resolved(next(option for option in node["anyOf"] if option.get("type") != "null"), document)
    return node


def _phrase(node: dict[str, Any], document: dict[str, Any]) -> str:
    match node:
        case {"enum": choices}:
            return "one of " + ", ".join(map(str, choices))
        case {"pattern": pattern}:
            return _WORDS[pattern]
        case {"type": "array", "items": items}:
            least = ", at least one" if "minItems" in node else ""
            return f"a list of {_plural(_phrase(_resolved(items, document), document))}{least}"
        case {"type": "integer" | "number" as kind}:
            return ("an integer" if kind == "integer" else "a number") + _bound(node)
        case {"type": kind}:
            return _WORDS[kind]
    raise AssertionError(f"no words for {node!r}")


def _bound(node: dict[str, Any]) -> str:
    if "minimum" in node:
        return f" ≥ {node['minimum']}"
    return f" > {node['exclusiveMinimum']:g}" if "exclusiveMinimum" in node else ""


def _plural(phrase: str) -> str:
    plain = phrase.removeprefix("an ").removeprefix("a ")
    return plain + "s" if plain != phrase else plain
