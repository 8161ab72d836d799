"""JSON lines → typed values: whole blocks at C speed, line by line only where that fails."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.json import Decoder

from ralph.model.events import Unparsed

T = TypeVar("T")
BLOCK = 2 << 20  # beyond this a block most likely holds one long line: look before decoding
LONG = 1 << 20  # a longer line is never built as a str, which may take four bytes a character
SAMPLE = 200
FEW = 100  # lines of one block that are told one by one although nobody can read them
_MUCH, _MANY = 1 << 17, 4  # bytes, and lines in the first quarter of them
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_CONTROLS = bytes(range(0x20))
_TYPE = re.compile(rb'\s*\{\s*"type"\s*:\s*"([\w.\-]{1,60})"')


class _Head(Struct, frozen=True, gc=False):
    type: str = ""


_HEAD = Decoder(_Head)


def unparsed(line: memoryview) -> Unparsed:
    """A line that is not read: its size, its type if it has one, and how it begins."""
    start = bytes(line[:SAMPLE])
    return Unparsed(len(line), _kind(line, start), start.decode("utf-8", "replace").strip())


def _broken(line: memoryview) -> Unparsed:
    """The same of a line that is no JSON."""
    start = bytes(line[:SAMPLE])
    found = _TYPE.match(start)
    return Unparsed(len(line), found[1].decode() if found else "", start.decode("utf-8", "replace").strip())


def is_flood(block: bytes | bytearray) -> bool:
    """Whether this came faster than anybody reads, so that only what decides need be built."""
    return len(block) >= _MUCH and block.count(b"\n", 0, _MUCH >> 2) >= _MANY


def values(
    block: bytes | bytearray,
    decoder: Decoder[T],
    long: Callable[[memoryview], T | Unparsed] = unparsed,
    single: Callable[[memoryview], T | Unparsed] | None = None,
) -> Iterable[T | Unparsed]:
    """Total: every line gives a value or an Unparsed. `long` reads the lines that are too long to build, `single` the
    others where not all of a block can be decoded."""
    if len(block) <= BLOCK:
        try:
            return decoder.decode_lines(block)
        except UNDECODABLE:
            pass
    return _one_by_one(block, single or (lambda line: value(line, decoder)), long)


def _one_by_one(
    block: bytes | bytearray,
    single: Callable[[memoryview], T | Unparsed],
    long: Callable[[memoryview], T | Unparsed],
) -> Iterator[T | Unparsed]:
    unread, rest = 0, 0  # lines, and bytes in those of them that are not told one by one
    for line, is_object in _lines(block):
        found = long(line) if len(line) > LONG else single(line) if is_object else _broken(line)
        if type(found) is Unparsed and (unread := unread + 1) > FEW:
            rest += len(line)
        else:
            yield found
    if unread > FEW:
        yield Unparsed(rest, count=unread - FEW)


def _lines(block: bytes | bytearray) -> Iterator[tuple[memoryview, bool]]:
    """Those that are not blank, and whether each may be a JSON object: most of what agents spill is none."""
    start, size = 0, len(block)
    view = memoryview(block)
    while start < size:
        end = block.find(b"\n", start)
        end = size if end < 0 else end
        if end - start > LONG:  # too long to look at
            yield view[start:end], False
        elif text := block[start:end].strip():
            yield view[start:end], text[:1] == b"{" and text[-1:] == b"}"
        start = end + 1


def value(line: memoryview | Raw, decoder: Decoder[T]) -> T | Unparsed:
    """One line, or a part of one that was left raw; mended where it is odd, left unread where it is too long."""
    view = memoryview(line)
    if len(view) > LONG:
        return unparsed(view)
    try:
        return decoder.decode(line)
    except msgspec.ValidationError:
        return unparsed(view)
    except UNDECODABLE:
        if not _is_mendable(bytes(view)):
            return _broken(view)
        return _mended(view, decoder)


def _is_mendable(line: bytes) -> bool:
    """Whether it has anything that `_mended` mends."""
    if b"\\ud" in line or b"\\uD" in line or line.translate(None, _CONTROLS) != line:
        return True
    try:
        return not line.isascii() and not line.decode()
    except UnicodeDecodeError:
        return True


def _mended(line: memoryview, decoder: Decoder[T]) -> T | Unparsed:
    """Once more without half emoji, raw control characters and bad UTF-8: agents cut tool output anywhere."""
    import json  # only odd lines need it

    try:
        loose = json.loads(str(line, "utf-8", "replace"), strict=False)
        return decoder.decode(json.dumps(loose, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, *UNDECODABLE):
        return unparsed(line)


def _kind(line: memoryview, start: bytes) -> str:
    if found := _TYPE.match(start):
        return found[1].decode()
    try:
        return _HEAD.decode(line).type
    except UNDECODABLE:
        return ""
