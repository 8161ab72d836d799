"""Secrets in bytes that programs printed: where they are, so that stars of the same length can stand there. A log that
is read by its structure afterwards says what it said."""

import re
from collections.abc import Mapping, Sequence

from ralph.core.text.secrets import MIN_TOKEN_WORD_BYTES, TOKEN_KINDS, WORD_BYTES, list_secret_values

_PRIVATE_KEY = rb"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^\"]{0,20000}?-----END [A-Z ]{0,40}PRIVATE KEY-----"
# scheme://user:password@host; a port is none
_ADDRESS_PASSWORD = rb"://[^\s/:@\"\\]{0,99}:(?!\d{1,5}(?:[/?#\s\"\\]|$))([^\s@\"\\]{1,200})(?=@)"
_CASED = {  # how these begin, where that is not in small letters
    "akia|asia|abia|acca": "AKIA|ASIA|ABIA|ACCA",
    "aiza": "AIza",
    "age-secret": "AGE-SECRET|age-secret",
    "eyj": "eyJ",
    ":aa": ":AA",
    "sg.": "SG.",
    "atatt": "ATATT",
}
_ANY_CASE = ("age-secret",)
_BEGINS = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"  # inside JSON a new line ends with a letter
_KEY_MARK = b"PRIVATE KEY-----"
_ONLY_WORDS = bytes(byte if byte in WORD_BYTES else 0x20 for byte in range(256))
Span = tuple[int, int]


def list_raw_secrets(variables: Mapping[str, str]) -> tuple[bytes, ...]:
    """Values of secret variables as they are printed: plain, and inside JSON."""
    found = [value.encode("utf-8", "surrogateescape") for value in list_secret_values(variables)]
    escaped = (value.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") for value in found)
    return tuple(dict.fromkeys((*found, *escaped)))


def find_secret_spans(data: bytes, values: Sequence[bytes] = ()) -> list[Span]:
    """Begin and end of each: known values, tokens that tell what they are, private keys, passwords in addresses."""
    spans = [(at, at + len(value)) for value in values for at in _find_all(data, value)]
    words = _list_long_words(data)
    for starts, kind in TOKEN_KINDS.items():
        if any(start in words for start in _CASED.get(starts, starts).encode().split(b"|")):
            pattern = rf"{_BEGINS}(?:{kind})(?![A-Za-z0-9])".encode()
            flags = re.IGNORECASE if starts in _ANY_CASE else re.NOFLAG
            spans += [found.span() for found in re.finditer(pattern, data, flags)]
    if _KEY_MARK in data:
        spans += [found.span() for found in re.finditer(_PRIVATE_KEY, data)]
    if b"://" in data:
        spans += [found.span(1) for found in re.finditer(_ADDRESS_PASSWORD, data)]
    return spans


def _list_long_words(data: bytes) -> bytes:
    """All that can hold a token, in a row; a tenth of what programs print, and so searched in a tenth of the time."""
    return b"".join(re.findall(rb" [^ ]{%d,}" % MIN_TOKEN_WORD_BYTES, b" " + data.translate(_ONLY_WORDS)))


def _find_all(data: bytes, value: bytes) -> list[int]:
    found, at = [], data.find(value)
    while at >= 0:
        found.append(at)
        at = data.find(value, at + len(value))
    return found
