"""Changes one key of a JSON text and leaves all else of it as it is: order, indentation, line ends."""

import json
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\r\n]*")
_MAX_LINE_CHARS = 60  # a longer value is written over several lines
_DEFAULT_INDENT = "  "


class _Member(Struct, frozen=True, kw_only=True):
    """A key and its value, by where they are."""

    key: str
    start: int  # of the key
    value: int  # where its value begins
    end: int  # where its value ends


def set_in_text(text: str, path: Sequence[str], value: object) -> str:
    """`text` is an object in valid JSON. What is in the way of a path, and no object, gives way to one."""
    at, below = _SPACE.match(text).end(), list(path)  # type: ignore[union-attr]  # it matches everywhere
    while True:
        key, *below = below
        found = _find_member(text, at, key)
        if found is None:
            return _insert_member(text, at, key, _nest(below, value))
        if not below or text[found.value] != "{":
            return text[: found.value] + _format(text, found.start, _nest(below, value)) + text[found.end :]
        at = found.value


def remove_from_text(text: str, path: Sequence[str]) -> str:
    """The same text if there is no such key."""
    at = _SPACE.match(text).end()  # type: ignore[union-attr]
    for key in path[:-1]:
        found = _find_member(text, at, key)
        if found is None or text[found.value] != "{":
            return text
        at = found.value
    while _find_member(text, at, path[-1]):  # a key may be there twice
        text = _remove_member(text, at, path[-1])
    return text


def _iterate_members(text: str, at: int) -> Iterator[_Member]:
    """Of the object that begins there."""
    at = _skip_space(text, at + 1)
    while text[at] != "}":
        key, end = _DECODER.raw_decode(text, at)
        value = _skip_space(text, _skip_space(text, end) + 1)
        _, end = _DECODER.raw_decode(text, value)
        yield _Member(key=key, start=at, value=value, end=end)
        at = _skip_space(text, end)
        at = _skip_space(text, at + 1) if text[at] == "," else at


def _find_member(text: str, at: int, key: str) -> _Member | None:
    """The last of that name: it is the one that counts."""
    found = [member for member in _iterate_members(text, at) if member.key == key]
    return found[-1] if found else None


def _insert_member(text: str, at: int, key: str, value: object) -> str:
    members = [*_iterate_members(text, at)]
    if not members:
        end = text.index("}", at)
        return text[:at] + _dump({key: value}, _read_indent(text, at), text) + text[end + 1 :]
    last = members[-1]
    gap = _read_gap(text, last.start)
    if "\n" in gap:  # no blank line with it
        gap = _find_newline(text) + gap.rpartition("\n")[2]
    return f"{text[: last.end]},{gap or ' '}{_quote(key)}: {_format(text, last.start, value)}{text[last.end :]}"


def _remove_member(text: str, at: int, key: str) -> str:
    members = [*_iterate_members(text, at)]
    index = max(index for index, member in enumerate(members) if member.key == key)
    if len(members) == 1:
        return text[: at + 1] + text[text.index("}", members[0].end) :]
    if index + 1 == len(members):
        return text[: members[index - 1].end] + text[members[index].end :]
    return text[: members[index].start] + text[members[index + 1].start :]


def _format(text: str, key_start: int, value: object) -> str:
    """A value beside the key that begins there."""
    if "\n" not in text.strip():
        return json.dumps(value, ensure_ascii=False)
    return _dump(value, _read_indent(text, key_start), text)


def _dump(value: object, indent: str, text: str) -> str:
    """An object has a line for each key; a list has one where it fits."""
    unit, newline = _find_unit(text), _find_newline(text)
    inner = indent + unit
    if isinstance(value, dict) and value:
        lines = [f"{inner}{_quote(key)}: {_dump(each, inner, text)}" for key, each in value.items()]
        return f",{newline}".join(lines).join((f"{{{newline}", f"{newline}{indent}}}"))
    short = json.dumps(value, ensure_ascii=False)
    if len(short) <= _MAX_LINE_CHARS or not isinstance(value, list):
        return short
    return f"{newline}{indent}".join(json.dumps(value, ensure_ascii=False, indent=unit).split("\n"))


def _quote(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)


def _nest(path: Sequence[str], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _read_gap(text: str, at: int) -> str:
    """The white space before it."""
    return text[len(text[:at].rstrip(" \t\r\n")) : at]


def _read_indent(text: str, at: int) -> str:
    """Of the line it is in."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _find_unit(text: str) -> str:
    """How far the first indented line is in."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else _DEFAULT_INDENT


def _find_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
