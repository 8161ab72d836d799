"""Lines with colours in them, broken between words: a terminal breaks them anywhere."""

import re

from ralph.core.text.plain import count_cells

_PAINT = re.compile(r"\x1b\[[0-9;]*m")


def wrap_painted(text: str, width: int, indent: str = "  ") -> str:
    """Every line no wider than `width` cells where a space allows it; what follows a break is indented."""
    return "\n".join(_wrap_line(line, width, indent) for line in text.split("\n"))


def _wrap_line(line: str, width: int, indent: str) -> str:
    if _count_painted_cells(line) <= width:
        return line
    lead = indent + line[: len(line) - len(line.lstrip(" "))]
    lines, current = [], ""
    for word in re.split(r"(?<=\S) ", line):
        longer = f"{current} {word}" if current else word
        if current and _count_painted_cells(longer) > width:
            lines.append(current)
            longer = lead + word
        current = longer
    return "\n".join([*lines, current])


def _count_painted_cells(text: str) -> int:
    return count_cells(_PAINT.sub("", text) if "\x1b" in text else text)
