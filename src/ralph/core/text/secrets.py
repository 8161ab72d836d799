"""What looks like a secret, hidden in text for people. What programs are given is never touched."""

import re
from collections.abc import Sequence

HIDDEN = "***"
_KINDS = "key|token|secret|passw|credential"
_NAME = rf"[\w-]{{0,99}}(?:{_KINDS})[\w-]{{0,99}}"  # bounded: a word of a megabyte is tried once, not at every letter
_START = r"(?<![\w-])"
_NEXT = "\x1f"  # between words; for a pattern it is a space
_VALUE = r"""(?!\*\*\*)(?:"[^"\x1f]*"|'[^'\x1f]*'|\S+?(?=["']{0,2}[;,)}\]]{0,2}(?:\s|$)))"""
_HEADER = rf"(?:[\w-]{{0,99}}authorization|x-{_NAME}|api-?key)"
_SCHEME = "(?:basic|bearer|digest|token)"
_SHAPES = ("sk-", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "_pat_", "glpat-", "xox")
_SIGNS = (*_KINDS.split("|"), "authorization", "bearer", "://", *_SHAPES)
# What a text must have one of, and the pattern: a string, for compiling them all takes 3 ms, and hardly one is needed.
_RULES = (
    ((":",), rf"""(["']{_NAME}["']\s*:\s*)(?:"[^"\x1f]*"|'[^'\x1f]*')"""),  # JSON
    (("=",), rf"""({_START}{_NAME}["']?=){_VALUE}"""),  # API_KEY=…, --api-key=…
    ((_NEXT,), rf"({_START}-{_NAME}{_NEXT})[^-{_NEXT}][^{_NEXT}]*"),  # --api-key and the whole word after it
    (("-",), rf"({_START}-{_NAME}[^\S{_NEXT}]+)(?!-){_VALUE}"),  # the same inside a word
    ((":", "="), rf"""({_START}{_HEADER}["']?\s*[:=]\s*["']?+(?:{_SCHEME}\s+)?+){_VALUE}"""),
    (("bearer",), rf"(\bbearer\s+){_VALUE}"),
    # scheme://user:password@host; a port is none
    (("://",), r"(://[^\s/:@]{0,99}:)(?!\d{1,5}(?:[/?#\s]|$))\S{1,200}(?=@)"),
    (
        _SHAPES,
        r"()\b(?:sk-[\w-]{16,}|gh[oprsu]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abp]-[\w-]{10,})",
    ),
)


def hidden(text: str) -> str:
    """The same text; values of secret names, of headers and in addresses are stars."""
    lower = text.lower()
    if any(sign in lower for sign in _SIGNS):
        for needs, rule in _RULES:
            if any(need in lower for need in needs):
                text = re.sub(rule, rf"\g<1>{HIDDEN}", text, flags=re.IGNORECASE)
    return text


def hidden_words(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command; what follows `--api-key` as a word of its own is hidden too."""
    return tuple(hidden(_NEXT.join(words)).split(_NEXT)) if words else ()


def is_secret(name: str) -> bool:
    """Whether a variable of that name is not for everybody's eyes."""
    lower = name.lower()
    return any(kind in lower for kind in _KINDS.split("|"))
