"""The commit message in an agent's answer."""

import re

from ralph.core.claims import extract_response, find_first_tag

MAX_ANNOUNCEMENT_CHARS = 200
_FENCE_LINE = r"\s*(?:`{3,}|~{3,})[^`]*"
_LABEL = (
    r"(?i)[*_`]*(?:(?:suggested|proposed|the) )?(?:git )?(?:commit )?"
    r"(?:message|subject)(?: line)?[*_`]*\s*:\s*[*_`]*\s*"
)
_ANNOUNCEMENT = r"(?i)(?:here\b|here's\b|sure\b|certainly\b|.*\bcommit message\b).*:"
_QUOTES = (("**", "**"), ("__", "__"), ("``", "``"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"))


def parse_commit_message(answer: str) -> str:
    """The `<response>` tag's content, else the first line that is neither blank nor a fence nor the announcement of the
    message; without label, quotation marks, backticks or bold around it."""
    tagged = extract_response(answer)
    if tagged is None:  # nothing is claimed here, so a tag inside a fence serves as well
        tagged = find_first_tag("response", answer)
    if tagged is not None:
        return tagged.strip()
    lines = [line.strip() for line in answer.splitlines() if line.strip() and not re.fullmatch(_FENCE_LINE, line)]
    messages = [line for line in lines if not re.fullmatch(_ANNOUNCEMENT, line[:MAX_ANNOUNCEMENT_CHARS])] or lines
    return next(filter(None, map(_strip_wrapping, messages)), "")


def _strip_wrapping(line: str) -> str:
    while (bare := _strip_label(_strip_quotes(line))) != line:
        line = bare
    return line


def _strip_label(line: str) -> str:
    label = re.match(_LABEL, line)
    return line[label.end() :] if label else line


def _strip_quotes(line: str) -> str:
    for opening, closing in _QUOTES:
        inner = line[len(opening) : -len(closing)]
        if inner and line == f"{opening}{inner}{closing}" and opening not in inner:
            return inner.strip()
    return line
