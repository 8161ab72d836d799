"""What looks like a secret, hidden in text for people. What programs are given is never touched."""

import re
from collections.abc import Sequence

REDACTED = "***"
_SECRET_WORDS = "key|token|secret|passw|credential"  # noqa: S105  # a pattern
# bounded: a word of a megabyte is tried once, not at every letter
_SECRET_NAME = rf"[\w-]{{0,99}}(?:{_SECRET_WORDS})[\w-]{{0,99}}"
_START = r"(?<![\w-])"
_WORD_SEPARATOR = "\x1f"  # between words; for a pattern it is a space
_VALUE = r"""(?!\*\*\*)(?:"[^"\x1f]*"|'[^'\x1f]*'|\S+?(?=["']{0,2}[;,)}\]]{0,2}(?:\s|$)))"""
_HEADER = rf"(?:[\w-]{{0,99}}authorization|x-{_SECRET_NAME}|api-?key)"
_SCHEME = "(?:basic|bearer|digest|token)"
_TOKEN_PREFIXES = ("sk-", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "_pat_", "glpat-", "xox")
_SUSPICIOUS_WORDS = (*_SECRET_WORDS.split("|"), "authorization", "bearer", "://", *_TOKEN_PREFIXES)
# What a text must have one of, and the pattern: a string, for compiling them all takes 3 ms, and hardly one is needed.
_RULES = (
    ((":",), rf"""(["']{_SECRET_NAME}["']\s*:\s*)(?:"[^"\x1f]*"|'[^'\x1f]*')"""),  # JSON
    (("=",), rf"""({_START}{_SECRET_NAME}["']?=){_VALUE}"""),  # API_KEY=…, --api-key=…
    (
        (_WORD_SEPARATOR,),
        rf"({_START}-{_SECRET_NAME}{_WORD_SEPARATOR})[^-{_WORD_SEPARATOR}][^{_WORD_SEPARATOR}]*",
    ),  # --api-key and the whole word after it
    (("-",), rf"({_START}-{_SECRET_NAME}[^\S{_WORD_SEPARATOR}]+)(?!-){_VALUE}"),  # the same inside a word
    ((":", "="), rf"""({_START}{_HEADER}["']?\s*[:=]\s*["']?+(?:{_SCHEME}\s+)?+){_VALUE}"""),
    (("bearer",), rf"(\bbearer\s+){_VALUE}"),
    # scheme://user:password@host; a port is none
    (("://",), r"(://[^\s/:@]{0,99}:)(?!\d{1,5}(?:[/?#\s]|$))\S{1,200}(?=@)"),
    (
        _TOKEN_PREFIXES,
        r"()\b(?:sk-[\w-]{16,}|gh[oprsu]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abp]-[\w-]{10,})",
    ),
)


def redact(text: str) -> str:
    """The text with values of secret names, headers and addresses replaced by stars."""
    lower = text.lower()
    if any(sign in lower for sign in _SUSPICIOUS_WORDS):
        for needs, rule in _RULES:
            if any(need in lower for need in needs):
                text = re.sub(rule, rf"\g<1>{REDACTED}", text, flags=re.IGNORECASE)
    return text


def redact_argv(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command; what follows `--api-key` as a word of its own is hidden too."""
    return tuple(redact(_WORD_SEPARATOR.join(words)).split(_WORD_SEPARATOR)) if words else ()


def is_secret_name(name: str) -> bool:
    """Whether a variable of that name is not for everybody's eyes."""
    lower = name.lower()
    return any(kind in lower for kind in _SECRET_WORDS.split("|"))
