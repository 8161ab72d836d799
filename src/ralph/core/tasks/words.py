"""Reading an agent's words for what they say against it: not what it quotes, and not what it says is not so."""

import re
from collections.abc import Iterable

from ralph.core.text.fences import classify_fenced_lines

_QUOTED = re.compile(
    r"<promise>[^<]*</promise>"
    r"|``[^`]*``|`[^`\n]*`"
    r'|"[^"\n]*"|“[^”\n]*”|«[^»\n]*»'
    r"|(?<!\w)'[^'\n]*'(?!\w)",
    re.IGNORECASE,
)
# "No remaining work", "0 of 12 tests failed", "none of the tests fail", "is not blocked by".
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:no|none of|nothing|without|zero|0|0 (?:out )?of \d+|free of|neither|nor)\s+(?:[\w-]+\s+)?"
    r"|(?:\bnot|\bnever|n't|n’t)\s+)$",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|\n")


def keep_own_words(text: str, others: Iterable[str] = ()) -> str:
    """The text without code, quotations and whatever repeats the words of others, such as the task's criteria."""
    said = "\n".join(line for line, is_said in classify_fenced_lines(text) if is_said and not _is_quotation(line))
    return _QUOTED.sub(" ", _drop_phrases(said, others))


def has_pattern(pattern: str, text: str, others: Iterable[str]) -> bool:
    """Whether these words stand in the text, in any case, beyond what it repeats of others and what it denies."""
    own = _drop_phrases(text, others)
    places = re.finditer(re.escape(pattern.strip()), own, re.IGNORECASE)
    return any(not is_denied(own, place.start()) for place in places)


def is_denied(text: str, at: int) -> bool:
    """Whether the sentence says of what begins there that it is not so."""
    return bool(_DENIED_BEFORE.search(_sentence_before(text, at)))


def find_sentence(text: str, at: int) -> str:
    """The sentence around that place."""
    end = _SENTENCE_END.search(text, at)
    return _sentence_before(text, at) + text[at : end.start() if end else len(text)]


def _drop_phrases(text: str, others: Iterable[str]) -> str:
    for phrase in sorted({" ".join(other.split()) for other in others}, key=len, reverse=True):
        if phrase:
            spaced = r"\s+".join(re.escape(word) for word in phrase.split())
            text = re.sub(spaced, " ", text, flags=re.IGNORECASE)
    return text


def _sentence_before(text: str, at: int) -> str:
    ends = [found.end() for found in _SENTENCE_END.finditer(text, max(0, at - 400), at)]
    return text[ends[-1] if ends else max(0, at - 400) : at]


def _is_quotation(line: str) -> bool:
    return line.lstrip().startswith(">")
