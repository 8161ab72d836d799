"""Code fences of a Markdown text: what stands inside one is quoted, not said."""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


def classify_fenced_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is said. A fence that is never closed swallows the rest: doubt is no claim."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            if mark and mark.group(1).startswith(fence) and not line.strip(" `~\t"):
                fence = ""
            yield line, False
        elif mark:
            fence = mark.group(1)
            yield line, False
        else:
            yield line, True
