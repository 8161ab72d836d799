"""An edit as text for people: how many lines it adds and removes, and the first of them."""

from collections.abc import Sequence
from itertools import pairwise, takewhile

from ralph.core.text.plain import count_cells, sanitize, truncate_cells
from ralph.core.text.quantities import pluralize
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.model.events import FileEdit

MIN_EDIT_CELLS = 8


def format_edit_size(edit: FileEdit, style: TerminalStyle) -> str:
    """+1 −1; of a file that is written as a whole, how long it is"""
    if edit.whole:
        return pluralize(edit.added, "line")
    sizes = ((edit.added, f"+{edit.added}"), (edit.removed, f"{style.glyphs.minus}{edit.removed}"))
    return " ".join(text for count, text in sizes if count)


def render_hunk(edit: FileEdit, style: TerminalStyle, width: int, indent: str = "") -> str:
    """The first changed lines, each cut to the width, and how many more there are. Starts with a newline; empty where
    no lines are wanted."""
    glyphs, paint = style.glyphs, style.palette
    lines = edit.hunk.split("\n")[: style.max_edit_lines] if edit.hunk else []
    if not lines:
        return ""
    room = max(MIN_EDIT_CELLS, width - len(indent) - count_cells(glyphs.branch)) if width else style.max_output_chars
    tints = {"+": paint.green, "-": paint.red}
    starts = _find_differences(lines, room)
    shown = [
        f"{tints.get(line[:1], paint.dim)}{_format_line(line, room, style, start)}{paint.off}"
        for line, start in zip(lines, starts, strict=True)
        if line.strip()
    ]
    more = edit.added + edit.removed - len(lines)
    if more > 0:
        shown.append(f"{paint.dim}{glyphs.ellipsis} {pluralize(more, 'more line')}{paint.off}")
    blank = " " * count_cells(glyphs.branch)
    below = f"\n{indent}{blank}".join(shown)
    return f"\n{indent}{paint.dim}{glyphs.branch}{paint.off}{below}"


def _find_differences(lines: Sequence[str], room: int) -> list[int]:
    """For each line where to begin: 0, but in a long line that replaces another and looks like it for as long as there
    is room, a little before the first difference."""
    starts = [0] * len(lines)
    for at, (old, new) in enumerate(pairwise(lines)):
        if old[:1] == "-" and new[:1] == "+":
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old[1:], new[1:], strict=False)))
            starts[at] = starts[at + 1] = max(0, same - room // 4) if same > room - MIN_EDIT_CELLS else 0
    return starts


def _format_line(line: str, room: int, style: TerminalStyle, start: int = 0) -> str:
    sign = style.glyphs.minus if line[:1] == "-" else line[:1]
    text = sanitize(line[1:]).expandtabs(4).replace("\n", " ").rstrip()
    text = style.glyphs.ellipsis + text[start:] if start else text
    return truncate_cells(f"{sign} {text}".rstrip(), room, style.glyphs.ellipsis)
