"""Text in columns, measured in cells of the terminal: a wide character takes two."""

from collections.abc import Collection, Sequence

from ralph.core.text.plain import count_cells

COLUMN_GAP = "  "


def align_columns(
    rows: Sequence[Sequence[str]], *, right: Collection[int] = (), widest: int | None = None
) -> list[str]:
    """A line for each row, without blanks at its end. `right` are the columns aligned to the right; a cell of more than
    `widest` cells does not widen its column."""
    cells = [[count_cells(text) for text in row] for row in rows]
    widths = [
        max(column if widest is None else (min(each, widest) for each in column)) for column in zip(*cells, strict=True)
    ]
    lines = []
    for row, taken in zip(rows, cells, strict=True):
        pads = [" " * (width - used) for width, used in zip(widths, taken, strict=True)]
        texts = [
            pad + text if at in right else text + pad for at, (text, pad) in enumerate(zip(row, pads, strict=True))
        ]
        lines.append(COLUMN_GAP.join(texts).rstrip())
    return lines
