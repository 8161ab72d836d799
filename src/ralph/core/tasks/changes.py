"""What a reviewer, tester or qa wants changed: `<changes>…</changes>` at the end of its final message."""

import re

from ralph.core.text.fences import classify_fenced_lines

_OPENING_TAG = re.compile(r"\s*<changes>", re.IGNORECASE)
_CLOSING_TAG = re.compile(r"</changes>\s*$", re.IGNORECASE)
_PROMISE_LINE = re.compile(r"\s*<promise>.*</promise>\s*", re.IGNORECASE)


def extract_changes(text: str) -> str | None:
    """The last block whose tags stand outside code fences, the first at the start of a line, the second at the end of
    the message; code inside it is kept. A promise behind it does not undo it: who asks for changes is not satisfied.
    """
    lines = list(classify_fenced_lines(text))
    while lines and _is_ignorable(*lines[-1]):
        lines.pop()
    if not lines or not _CLOSING_TAG.search(lines[-1][0]):
        return None
    for start in range(len(lines) - 1, -1, -1):
        line, said = lines[start]
        if said and _OPENING_TAG.match(line):
            return _strip_tags("\n".join(line for line, _ in lines[start:]))
    return None


def _is_ignorable(line: str, said: bool) -> bool:
    return not said or not line.strip() or bool(_PROMISE_LINE.fullmatch(line))


def _strip_tags(block: str) -> str | None:
    """What stands between the tags; nothing asks for nothing."""
    return _CLOSING_TAG.sub("", _OPENING_TAG.sub("", block, count=1), count=1).strip() or None
