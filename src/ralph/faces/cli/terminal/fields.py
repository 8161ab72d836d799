"""A name and its value, the value wrapped beside the name."""

from itertools import chain, repeat

from ralph.core.text.plain import one_line, truncate_cells, wrap_text

FIELD_LABEL_CELLS = 11
MIN_VALUE_CELLS = 20
MAX_VALUE_LINES = 3


def format_field(label: str, value: str, width: int) -> str:
    """`Agent      claude`; what is too long even for several lines ends in an ellipsis."""
    room = max(MIN_VALUE_CELLS, width - FIELD_LABEL_CELLS - 1)
    lines = wrap_text(one_line(value, room * (MAX_VALUE_LINES + 1)), room)
    if len(lines) > MAX_VALUE_LINES:
        lines[MAX_VALUE_LINES - 1 :] = [truncate_cells(f"{lines[MAX_VALUE_LINES - 1]} …", room)]
    labels = chain([label], repeat(""))
    return "\n".join(f"{name:<{FIELD_LABEL_CELLS}}{line}" for name, line in zip(labels, lines, strict=False))
