"""What a reviewer, tester or qa wants changed: `<changes>…</changes>` at the end of its final message."""

import re

from ralph.core.text.fences import marked

_OPENS = re.compile(r"\s*<changes>", re.IGNORECASE)
_CLOSES = re.compile(r"</changes>\s*$", re.IGNORECASE)
_PROMISES = re.compile(r"\s*<promise>.*</promise>\s*", re.IGNORECASE)


def changes(text: str) -> str | None:
    """The last block whose tags stand outside code fences, the first at the start of a line, the second at the end of
    the message; code inside it is kept. A promise behind it does not undo it: who asks for changes is not satisfied.
    """
    lines = list(marked(text))
    while lines and _adds_nothing(*lines[-1]):
        lines.pop()
    if not lines or not _CLOSES.search(lines[-1][0]):
        return None
    for start in range(len(lines) - 1, -1, -1):
        line, said = lines[start]
        if said and _OPENS.match(line):
            return _inside("\n".join(line for line, _ in lines[start:]))
    return None


def _adds_nothing(line: str, said: bool) -> bool:
    return not said or not line.strip() or bool(_PROMISES.fullmatch(line))


def _inside(block: str) -> str | None:
    """What stands between the tags; nothing asks for nothing."""
    return _CLOSES.sub("", _OPENS.sub("", block, count=1), count=1).strip() or None
