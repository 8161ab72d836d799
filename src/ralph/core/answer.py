"""An agent's final answer, made ready for reading: its claim freed of markup, its length bounded."""

import re

from ralph.core.claims import extract_promise, extract_response
from ralph.core.text.fences import find_open_fence

PROMPT_FENCE = "```"  # our own prompts show a promise between two of these
CUT_MARK = "... [cut] ..."
MAX_KEPT_RESPONSE_CHARS = 1000
_TAG_LINE = re.compile(r"<(promise|response)>(?:(?!</?\1>).)*</\1>", re.IGNORECASE)
_TAG_END = re.compile(r"</(?:promise|response)>", re.IGNORECASE)
_MARKUP = ("**", "__", "*", "_", "``", "`")


def unwrap_claim(text: str) -> str:
    """The answer with the tag on its last line bare: agents put it in bold, in inline code, or in the fence in which
    our prompt shows it. Tags anywhere else stay as they are."""
    lines = text.rstrip().splitlines()
    if not lines or not _TAG_END.search(text, max(0, len(text) - 4000)) or extract_promise(text) is not None:
        return text
    start, wrapped = _find_last_block(lines)
    bare = _strip_markup(wrapped)
    if bare == lines[-1].strip() or not _TAG_LINE.fullmatch(bare) or not _is_outside_fences(lines[:start]):
        return text
    return "\n".join([*lines[:start], bare])


def shorten_answer(text: str, limit: int) -> str:
    """Its beginning and its end, in so many bytes. What it says outside code fences stays outside, what it quotes stays
    quoted, and its response tag is kept wherever it stands."""
    if len(text) * 4 <= limit or len(data := text.encode("utf-8", "replace")) <= limit:
        return text
    half = limit // 2 - 2 * MAX_KEPT_RESPONSE_CHARS
    head, tail = data[:half].decode("utf-8", "ignore"), data[-half:].decode("utf-8", "ignore")
    before = text[: len(text) - len(tail)]
    # Half a line must not pass for a whole one.
    rest = f"{CUT_MARK}\n{tail}" if before.endswith("\n") else f"{CUT_MARK} {tail}"
    kept = [head, find_open_fence(head), "", find_open_fence(before), rest]
    response = extract_response(text)
    if response is not None and len(response) <= MAX_KEPT_RESPONSE_CHARS and extract_response(_join(kept)) != response:
        kept[2] = f"<response>{response}</response>"
    return _join(kept)


def _find_last_block(lines: list[str]) -> tuple[int, str]:
    """Where the last line begins and what it says; the prompt's own fence with one line in it counts as that line."""
    if lines[-1] == PROMPT_FENCE and len(lines) > 2:
        start = next((at for at in range(len(lines) - 2, -1, -1) if lines[at].strip() == PROMPT_FENCE), -1)
        content = [line for line in lines[start + 1 : -1] if line.strip()]
        if start >= 0 and len(content) == 1:
            return start, content[0]
    return len(lines) - 1, lines[-1]


def _strip_markup(line: str) -> str:
    bare = line.strip()
    while mark := next((m for m in _MARKUP if len(bare) > 2 * len(m) and bare.startswith(m) and bare.endswith(m)), ""):
        bare = bare[len(mark) : -len(mark)].strip()
    return bare


def _is_outside_fences(lines: list[str]) -> bool:
    """Whether what follows these lines is said."""
    return not find_open_fence("\n".join(lines))


def _join(parts: list[str]) -> str:
    return "\n".join(part for part in parts if part)
