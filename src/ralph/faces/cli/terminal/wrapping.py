"""Lines with colours in them, broken between words: a terminal breaks them anywhere."""

import os
import re
from typing import TextIO

from ralph.core.text.plain import count_cells
from ralph.faces.cli.terminal.look import MIN_TERMINAL_WIDTH, has_terminal, resolve_width
from ralph.faces.glyphs import ASCII_GLYPHS, resolve_glyphs

_PAINT = re.compile(r"\x1b\[[0-9;]*m")
_ASCII_SIGNS = str.maketrans(
    {"✓": "+", "✗": "x", "●": "*", "○": "o", "‖": "=", "·": "-", "…": "...", "→": "->", "←": "<-", "—": "-", "–": "-"}
    | {"−": "-", "≈": "~", "└": "`", "─": "-", "×": "x"}
)
_LEAD = re.compile(r" *(?:(?:└|⎿|`-) +)?")  # what hangs below a line, with the branch it hangs on


def wrap_for_stream(text: str, stream: TextIO | None) -> str:
    """For a terminal; what a program or a file gets stays as it is."""
    return (
        wrap_painted(text, max(MIN_TERMINAL_WIDTH, resolve_width(stream, os.environ))) if has_terminal(stream) else text
    )


def fit_page(text: str, stream: TextIO | None) -> str:
    """A page for a stream: wrapped for a terminal, and without signs that it cannot show."""
    is_ascii = resolve_glyphs("auto", os.environ, getattr(stream, "encoding", None)) is ASCII_GLYPHS
    return wrap_for_stream(text.translate(_ASCII_SIGNS) if is_ascii else text, stream)


def wrap_painted(text: str, width: int, indent: str = "  ") -> str:
    """Every line no wider than `width` cells where a space allows it; what follows a break is indented."""
    return "\n".join(_wrap_line(line, width, indent) for line in text.split("\n"))


def _wrap_line(line: str, width: int, indent: str) -> str:
    if _count_painted_cells(line) <= width:
        return line
    found = _LEAD.match(_PAINT.sub("", line))
    before = found[0] if found else ""
    lead = " " * count_cells(before) + ("" if before.strip() else indent)  # below the text that hangs on the branch
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
