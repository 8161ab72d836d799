"""Where in a settings file a key stands."""

import re
from collections.abc import Iterator

import msgspec

KeyPath = tuple[str | int, ...]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]')

_NO_KEY = "\0"  # inside an object, before its next key


def find_line(text: str, path: KeyPath) -> int | None:
    """The line of this key, or of what it would be in; in YAML only when no other line has a key of that name."""
    if text.lstrip().startswith("{"):
        offsets = dict(_iterate_keys(text))
        known = next((path[:end] for end in range(len(path), 0, -1) if path[:end] in offsets), None)
        return None if known is None else _count_line(text, offsets[known])
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    key = re.compile(rf"""[\s{{-]*["']?{re.escape(name)}["']?\s*:""")
    found = [number for number, line in enumerate(text.splitlines(), 1) if key.match(line)]
    return found[0] if name and len(found) == 1 else None


def locate_offset(text: str, offset: int) -> tuple[int, int]:
    """Both counted from one, as editors do."""
    return _count_line(text, offset), offset - text.rfind("\n", 0, offset)


def _count_line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _iterate_keys(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Every key and every list item of a JSON text, and where it begins."""
    path: list[str | int] = []
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{":
                path.append(_NO_KEY)
            case "[":
                path.append(0)
                yield tuple(path), _find_value_after(text, token.end())
            case "}" | "]":
                path.pop()
            case "," if isinstance(path[-1], int):
                path[-1] += 1
                yield tuple(path), _find_value_after(text, token.end())
            case ",":
                path[-1] = _NO_KEY
            case string if path[-1] == _NO_KEY and string != ":":
                path[-1] = str(msgspec.json.decode(string))
                yield tuple(path), token.start()


def _find_value_after(text: str, offset: int) -> int:
    return next((i for i in range(offset, len(text)) if not text[i].isspace()), offset)
