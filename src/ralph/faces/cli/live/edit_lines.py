"""An edit as text for people: how many lines it adds and removes, and the first of them."""

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
    shown = [
        f"{tints.get(line[:1], paint.dim)}{_format_line(line, room, style)}{paint.off}"
        for line in lines
        if line.strip()
    ]
    more = edit.added + edit.removed - len(lines)
    if more > 0:
        shown.append(f"{paint.dim}{glyphs.ellipsis} {pluralize(more, 'more line')}{paint.off}")
    blank = " " * count_cells(glyphs.branch)
    below = f"\n{indent}{blank}".join(shown)
    return f"\n{indent}{paint.dim}{glyphs.branch}{paint.off}{below}"


def _format_line(line: str, room: int, style: TerminalStyle) -> str:
    sign = style.glyphs.minus if line[:1] == "-" else line[:1]
    text = sanitize(line[1:]).expandtabs(4).replace("\n", " ").rstrip()
    return truncate_cells(f"{sign} {text}".rstrip(), room, style.glyphs.ellipsis)
