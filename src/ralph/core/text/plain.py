"""Nothing but text reaches a terminal: no sequence, no hidden character, and how many cells what is left takes."""

import re
from functools import lru_cache

_PLAIN_BYTES = bytes(range(0x20, 0x7F)) + b"\t\n"

# A string sequence (OSC, DCS, SOS, PM, APC) ends with its line at the latest: nothing below it can be hidden. No
# part can run past the start of the next sequence, so hostile input costs no more than its length.
_ESCAPE_PATTERN = (
    "(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\n\x80-\x9f]*(?:\x07|\x1b\\\\|\x9c)?"
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI
    "|\x1b[ -/]*[0-~]?"  # every other escape, a lone one too
)
_HIDDEN_PATTERN = (
    _ESCAPE_PATTERN
    + "|[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
_ESCAPE_STARTS = re.compile("[\x1b\x90-\x9f]")
_LINE_BREAKS = ("\r\n", "\r", "\v", "\f", "\u2028", "\u2029")  # what overwrites a line elsewhere starts a new one here


# Beyond ASCII, what is surely text and one cell wide. The rest is asked, one character at a time.
_NARROW_RANGES = (
    "\xa1-\xac\xae-\u02ff\u0370-\u0482\u048a-\u0590\u1e00-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u20cf\u2100-\u2319"
    "\u2400-\u25fc\u2600-\u2613\u2701-\u2704\u270c-\u2727\u2729-\u274b\u2758-\u2794\u2798-\u27af"
)
_TAB = "    "


def sanitize(text: str) -> str:
    """The text without anything a terminal would obey or not show; `\\n` and `\\t` stay."""
    unusual = _extract_unusual(text)
    return text if not unusual or unusual.isprintable() else _strip_hidden(text)


def strip_escapes(text: str) -> str:
    """The text without sequences for a terminal: colours, titles, links, cursor moves. All else stays."""
    return re.sub(_ESCAPE_PATTERN, "", text) if _ESCAPE_STARTS.search(text) else text


def count_cells(text: str) -> int:
    """How many columns plain text takes: wide characters two, combining ones none."""
    return len(text) if text.isascii() else len(text) + sum(map(_extra_cells, _extract_unusual(text)))


def truncate_cells(text: str, width: int, ellipsis: str = "…") -> str:
    """One line of plain text, cut to `width` cells; a cut shows. Each sign of an ellipsis takes one cell."""
    start = text[: max(0, width) + 1]
    room = width - len(ellipsis)
    if _is_ordinary(start):
        return text if len(start) <= width else start[:room] + ellipsis if room > 0 else start[:-1]
    if count_cells(text) <= width:
        return text
    return (
        text[: _index_after_cells(text, 0, room)] + ellipsis if room > 0 else text[: _index_after_cells(text, 0, width)]
    )


def one_line(text: str, width: int, ellipsis: str = "…") -> str:
    """Any text, cleaned, on one line of at most `width` cells. Only as much of it is looked at as can matter."""
    start = text[: width + 1]
    if "\n" in start or "\t" in start:
        start = start.replace("\n", " ").replace("\t", " ")
    if "   " in start or not _is_ordinary(start):
        start = " ".join(sanitize(text[: width * 2]).split())
        return truncate_cells(start if len(text) <= width * 2 else start + ellipsis, width, ellipsis)
    return start.strip() if len(start) <= width else truncate_cells(start.lstrip(), width, ellipsis)


def take_first_lines(text: str, most: int, width: int, ellipsis: str = "…") -> list[str]:
    """The first lines of any text, cleaned, each cut to `width` cells, as far as so many lines of that width reach."""
    start = text[: most * (width + 1)]
    cut = len(start) < len(text)
    ordinary = _is_ordinary(start)
    if not ordinary:
        start = sanitize(start)
    if "\t" in start:
        start = start.replace("\t", _TAB)
    lines = start.split("\n", most)
    if len(lines) > most:
        del lines[most:]
    elif cut and lines[-1]:
        lines[-1] += ellipsis
    if ordinary and width > len(ellipsis):
        room = width - len(ellipsis)
        return [line if len(line) <= width else line[:room] + ellipsis for line in lines]
    return [truncate_cells(line, width, ellipsis) for line in lines]


def wrap_text(text: str, width: int) -> list[str]:
    """The lines of any text, cleaned; those too long broken between words where that is possible."""
    single = _is_ordinary(text)
    if not single:
        text = sanitize(text)
        single = not any(map(_extra_cells, set(_extract_unusual(text))))
    if "\t" in text:
        text = text.replace("\t", _TAB)
    lines: list[str] = []
    for line in text.split("\n"):
        if len(line) <= width and (single or count_cells(line) <= width):
            lines.append(line)
        else:
            _break_line(line, width, single, lines)
    return lines


def _strip_hidden(text: str) -> str:
    for each in _LINE_BREAKS:
        text = text.replace(each, "\n")
    return re.sub(_HIDDEN_PATTERN, "", text)


def _break_line(line: str, width: int, single: bool, lines: list[str]) -> None:
    start, length = 0, len(line)
    while (end := start + width if single else _index_after_cells(line, start, width)) < length:
        end = max(end, start + 1)  # a wide character where there is one column
        cut = line.rfind(" ", start, end + 1)
        piece = line[start:cut]
        if cut <= start or piece.isspace():
            lines.append(line[start:end])
            start = end
        else:
            lines.append(piece)
            start = cut + 1
    if start < length:
        lines.append(line[start:])


def _index_after_cells(text: str, start: int, width: int) -> int:
    """Where `width` cells from `start` on end, marks on the last character included."""
    for index in range(start, len(text)):
        width -= 1 + _extra_cells(text[index])
        if width < 0:
            return index
    return len(text)


def _is_ordinary(text: str) -> bool:
    """Whether this is surely plain text of one cell a character."""
    if text.isascii():
        return not text.encode().translate(None, _PLAIN_BYTES)
    return _odd_pattern().search(_extract_unusual(text)) is None


def _extract_unusual(text: str) -> str:
    """All but printable ASCII, tabs and newlines. Bytes are sifted six times as fast as characters are asked."""
    return text.encode("utf-8", "surrogatepass").translate(None, _PLAIN_BYTES).decode("utf-8", "surrogatepass")


@lru_cache(maxsize=1)
def _odd_pattern() -> re.Pattern[str]:
    return re.compile(f"[^{_NARROW_RANGES}]")


@lru_cache(maxsize=4096)
def _extra_cells(character: str) -> int:
    """Cells beyond the one each character is counted with."""
    import unicodedata  # not before text asks for it: most is ASCII

    if character == "\ufe0f":  # asks for the emoji's form, which is one cell wider
        return 0
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return -1
    if category == "Cn":  # this Python does not know it yet: up there a new emoji
        return int(character >= "\U0001f000")
    return 1 if unicodedata.east_asian_width(character) in "WF" else 0
