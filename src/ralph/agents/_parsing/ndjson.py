"""JSON lines → typed values: whole blocks at C speed, line by line only where that fails."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.json import Decoder

from ralph.model.events import Unparsed

_T = TypeVar("_T")
MAX_BLOCK_BYTES = 2 << 20  # beyond this a block most likely holds one long line: look before decoding
MAX_BUILT_LINE_BYTES = 1 << 20  # a longer line is never built as a str, which may take four bytes a character
SAMPLE_BYTES = 200
MAX_UNPARSED_PER_BLOCK = 100  # lines of one block that are told one by one although nobody can read them
_FLOOD_BYTES, _FLOOD_LINES = 1 << 17, 4  # bytes, and lines in the first quarter of them
DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_CONTROL_BYTES = bytes(range(0x20))
_TYPE_PATTERN = re.compile(rb'\s*\{\s*"type"\s*:\s*"([\w.\-]{1,60})"')


class _Head(Struct, frozen=True, gc=False):
    type: str = ""


_HEAD_DECODER = Decoder(_Head)


def describe_unparsed(line: memoryview) -> Unparsed:
    """A line that is not read: its size, its type if it has one, and how it begins."""
    start = bytes(line[:SAMPLE_BYTES])
    return Unparsed(size=len(line), kind=_read_type(line, start), sample=start.decode("utf-8", "replace").strip())


def _describe_broken(line: memoryview) -> Unparsed:
    """The same of a line that is not JSON."""
    start = bytes(line[:SAMPLE_BYTES])
    found = _TYPE_PATTERN.match(start)
    return Unparsed(
        size=len(line), kind=found[1].decode() if found else "", sample=start.decode("utf-8", "replace").strip()
    )


def is_flood(block: bytes | bytearray) -> bool:
    """Whether this came faster than anybody reads, so that only what decides need be built."""
    return len(block) >= _FLOOD_BYTES and block.count(b"\n", 0, _FLOOD_BYTES >> 2) >= _FLOOD_LINES


def decode_lines(
    block: bytes | bytearray,
    decoder: Decoder[_T],
    long: Callable[[memoryview], _T | Unparsed] = describe_unparsed,
    single: Callable[[memoryview], _T | Unparsed] | None = None,
) -> Iterable[_T | Unparsed]:
    """Total: every line gives a value or an Unparsed. `long` reads the lines that are too long to build, `single` the
    others where not all of a block can be decoded."""
    if len(block) <= MAX_BLOCK_BYTES:
        try:
            return decoder.decode_lines(block)
        except DECODE_ERRORS:
            pass
    return _decode_one_by_one(block, single or (lambda line: decode_line(line, decoder)), long)


def _decode_one_by_one(
    block: bytes | bytearray,
    single: Callable[[memoryview], _T | Unparsed],
    long: Callable[[memoryview], _T | Unparsed],
) -> Iterator[_T | Unparsed]:
    unread, rest = 0, 0  # lines, and bytes in those of them that are not told one by one
    for line, is_object in _split_lines(block):
        found = (
            long(line) if len(line) > MAX_BUILT_LINE_BYTES else single(line) if is_object else _describe_broken(line)
        )
        if type(found) is Unparsed and (unread := unread + 1) > MAX_UNPARSED_PER_BLOCK:
            rest += len(line)
        else:
            yield found
    if unread > MAX_UNPARSED_PER_BLOCK:
        yield Unparsed(size=rest, count=unread - MAX_UNPARSED_PER_BLOCK)


def _split_lines(block: bytes | bytearray) -> Iterator[tuple[memoryview, bool]]:
    """Those that are not blank, and whether each may be a JSON object: most of what agents spill is none."""
    start, size = 0, len(block)
    view = memoryview(block)
    while start < size:
        end = block.find(b"\n", start)
        end = size if end < 0 else end
        if end - start > MAX_BUILT_LINE_BYTES:  # too long to look at
            yield view[start:end], False
        elif text := block[start:end].strip():
            yield view[start:end], text[:1] == b"{" and text[-1:] == b"}"
        start = end + 1


def decode_line(line: memoryview | Raw, decoder: Decoder[_T]) -> _T | Unparsed:
    """One line, or a part of one that was left raw; mended where it is odd, left unread where it is too long."""
    view = memoryview(line)
    if len(view) > MAX_BUILT_LINE_BYTES:
        return describe_unparsed(view)
    try:
        return decoder.decode(line)
    except msgspec.ValidationError:
        return describe_unparsed(view)
    except DECODE_ERRORS:
        if not _is_repairable(bytes(view)):
            return _describe_broken(view)
        return _repair_line(view, decoder)


def _is_repairable(line: bytes) -> bool:
    """Whether it has anything that `_repair_line` repairs."""
    if b"\\ud" in line or b"\\uD" in line or line.translate(None, _CONTROL_BYTES) != line:
        return True
    try:
        return not line.isascii() and not line.decode()
    except UnicodeDecodeError:
        return True


def _repair_line(line: memoryview, decoder: Decoder[_T]) -> _T | Unparsed:
    """Once more without half emoji, raw control characters and bad UTF-8: agents cut tool output anywhere."""
    import json  # only odd lines need it

    try:
        loose = json.loads(str(line, "utf-8", "replace"), strict=False)
        return decoder.decode(json.dumps(loose, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, *DECODE_ERRORS):
        return describe_unparsed(line)


def _read_type(line: memoryview, start: bytes) -> str:
    if found := _TYPE_PATTERN.match(start):
        return found[1].decode()
    try:
        return _HEAD_DECODER.decode(line).type
    except DECODE_ERRORS:
        return ""
