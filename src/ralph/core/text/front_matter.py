"""The fields above a message: `key: value` lines, the little of YAML that message buses use. Reading never fails."""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from ralph.model.message import Parent

_PLAIN_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./@+-]*")
_YAML_NON_TEXT = re.compile(  # to a reader of YAML
    r"true|false|yes|no|on|off|null|y|n|[0-9._]+|0x[0-9a-f]+|[0-9.]+e[+-]?[0-9]+|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}",
    re.IGNORECASE,
)
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # though in JSON
_PARENT_FIELD = re.compile(r"(msg_id|kind|meta)\s*:(?:\s+(.*))?")


class FrontMatter(Struct, frozen=True):
    """The parsed front matter: plain values by key, and the parents."""

    values: Mapping[str, str]
    parents: tuple[Parent, ...] = ()


def render_parents(parents: Sequence[Parent]) -> str:
    """Their lines; nothing where there are none."""
    lines = ["parents:\n"] if parents else []
    for parent in parents:
        lines.append(f"    - msg_id: {render_scalar(parent.msg_id)}\n")
        if parent.kind:
            lines.append(f"      kind: {render_scalar(parent.kind)}\n")
    return "".join(lines)


def render_scalar(value: str) -> str:
    """A plain word as it is, anything else as a JSON string: no value can break out of its line."""
    if _PLAIN_WORD.fullmatch(value) and not _YAML_NON_TEXT.fullmatch(value):
        return value
    text = msgspec.json.encode(value.encode("utf-8", "replace").decode()).decode()
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def parse_front_matter(text: str) -> FrontMatter:
    """What can be understood of it. Of a key that comes twice, the first counts."""
    values: dict[str, str] = {}
    nested: dict[str, list[str]] = {}
    key = ""
    for line in text.split("\n"):
        if line[:1] in (" ", "\t", "-"):
            nested.setdefault(key, []).append(line.strip())
            continue
        key, colon, value = line.partition(":")
        key = key.strip()
        if colon:
            values.setdefault(key, _parse_scalar(value.strip()))
    inline = values.pop("parents", "")
    return FrontMatter(
        values, tuple(_parse_inline_parents(inline) if inline else _parse_listed_parents(nested.get("parents", ())))
    )


def _parse_scalar(value: str) -> str:
    if value[:1] == '"':
        try:
            return msgspec.json.decode(value, type=str)
        except msgspec.DecodeError:
            return value.strip('"')
    if value[:1] == "'":
        return value[1:].removesuffix("'").replace("''", "'")
    return "" if value in ("null", "~") else value


def _parse_inline_parents(value: str) -> Iterator[Parent]:
    """Parents on one line: `[a, b]`, or objects in JSON."""
    try:
        items = msgspec.json.decode(value, type=list[str | dict[str, object]])
    except msgspec.DecodeError:
        items = [_parse_scalar(word.strip()) for word in value.strip("[]").split(",")]
    for item in items:
        fields = {"msg_id": item} if isinstance(item, str) else item
        if msg_id := fields.get("msg_id"):
            yield Parent(str(msg_id), str(fields.get("kind", "")))


def _parse_listed_parents(lines: Sequence[str]) -> Iterator[Parent]:
    """Parents one below the other: words, as in old files, or objects."""
    items: list[dict[str, str]] = []
    for line in lines:
        if line.startswith("-"):
            items.append({})
        text = line.removeprefix("-").strip()
        field = _PARENT_FIELD.fullmatch(text)
        if items and field:
            items[-1].setdefault(field[1], _parse_scalar((field[2] or "").strip()))
        elif items:
            items[-1].setdefault("msg_id", _parse_scalar(text))
    for item in items:
        if item.get("msg_id"):
            yield Parent(item["msg_id"], item.get("kind", ""))
