"""Code fences of a Markdown text: what stands inside one is quoted, not said."""

import re
from collections.abc import Iterator

# A fence may stand in block quotes and list items. A line with more backticks behind its first is inline code.
_OPENING = re.compile(r"((?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*)[ \t]*(`{3,}+(?![^`]*`)|~{3,}+)")
_CLOSING = re.compile(r"((?:[ \t]*>)*)[ \t]*(`{3,}|~{3,})[ \t]*")
_QUOTE_MARKS = re.compile(r"(?:[ \t]*>)*")


def classify_fenced_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is said. A fence that is never closed swallows the rest: doubt is no claim. One in a
    block quote ends with the quote."""
    return ((line, said) for line, said, _ in _track_fences(text))


def find_open_fence(text: str) -> str:
    """The fence that is still open at the end, with its quote marks; empty when none is."""
    fence = ""
    for _, _, open_behind in _track_fences(text):
        fence = open_behind
    return fence


def _track_fences(text: str) -> Iterator[tuple[str, bool, str]]:
    """Each line, whether it is said, and the fence that is open behind it."""
    fence, depth = "", 0
    for line in text.splitlines():
        if fence and depth and _count_quote_marks(line) < depth:
            fence = ""
        if fence:
            closed = _CLOSING.fullmatch(line)
            if closed and closed[1].count(">") == depth and closed[2].startswith(fence):
                fence = ""
            yield line, False, ">" * depth + fence if fence else ""
        elif ("```" in line or "~~~" in line) and (opened := _OPENING.match(line)):
            fence, depth = opened[2], opened[1].count(">")
            yield line, False, ">" * depth + fence
        else:
            yield line, True, ""


def _count_quote_marks(line: str) -> int:
    found = _QUOTE_MARKS.match(line)
    return found[0].count(">") if found else 0
