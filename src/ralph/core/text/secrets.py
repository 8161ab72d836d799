"""What looks like a secret, hidden in text for people. What programs are given is never touched."""

import re
from collections.abc import Mapping, Sequence

REDACTED = "***"
_MIN_SECRET_CHARS = 8
_SECRET_WORDS = "key|token|secret|passw|credential"  # noqa: S105  # a pattern
# bounded: a word of a megabyte is tried once, not at every letter
_SECRET_NAME = rf"[\w-]{{0,99}}(?:{_SECRET_WORDS})[\w-]{{0,99}}"
_START = r"(?<![\w-])"
_WORD_SEPARATOR = "\x1f"  # between words; for a pattern it is a space
_VALUE = r"""(?!\*\*\*)(?:"[^"\x1f]*"|'[^'\x1f]*'|\S+?(?=["']{0,2}[;,)}\]]{0,2}(?:\s|$)))"""
_HEADER = rf"(?:[\w-]{{0,99}}authorization|x-{_SECRET_NAME}|api-?key)"
_SCHEME = "(?:basic|bearer|digest|token)"
# Kinds of tokens that tell by their beginning what they are; a commit's hash never looks like one.
TOKEN_KINDS = {
    "sk-": r"sk-[\w-]{16,}",  # OpenAI, Anthropic and many more
    "gho_|ghp_|ghr_|ghs_|ghu_": r"gh[oprsu]_\w{16,}",  # GitHub
    "github_pat_": r"github_pat_\w{16,}",
    "glpat-|gldt-|glrt-|glptt-|glcbt-|glsoat-|glagent-": r"gl(?:pat|dt|rt|ptt|cbt|soat|agent)-[\w.-]{16,}",  # GitLab
    "xox": r"xox[abeoprs](?:\.xox[a-z])?-[\w-]{10,}",  # Slack
    "xapp-": r"xapp-\d-[\w-]{10,}",
    "akia|asia|abia|acca": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",  # AWS
    "aiza": r"AIza[\w-]{35}",  # Google
    "age-secret": r"age-secret-key-1[a-z0-9]{40,}",
    "ya29.": r"ya29\.[\w-]{20,}",
    "gsk_": r"gsk_\w{20,}",  # Groq
    "xai-": r"xai-\w{20,}",
    "r8_": r"r8_\w{30,}",  # Replicate
    "hf_": r"hf_[A-Za-z]{20,}",  # Hugging Face
    "pplx-": r"pplx-\w{20,}",
    "npm_": r"npm_\w{20,}",
    "pypi-": r"pypi-[\w-]{20,}",
    "dckr_": r"dckr_(?:pat|oat)_[\w-]{20,}",  # Docker
    "_live_": r"(?:sk|pk|rk|whsec)_live_\w{10,}",  # Stripe
    "_test_": r"(?:sk|rk)_test_\w{10,}",
    "whsec_": r"whsec_\w{16,}",
    "sg.": r"SG\.[\w-]{16,}\.[\w-]{16,}",  # SendGrid
    "doo_v1_|dop_v1_|dor_v1_": r"do[opr]_v1_[0-9a-f]{40,}",  # DigitalOcean
    "shp": r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",  # Shopify
    "dapi": r"dapi[0-9a-f]{32}",  # Databricks
    "lin_api_": r"lin_api_\w{20,}",
    "ntn_": r"ntn_\w{30,}",  # Notion
    "secret_": r"secret_[A-Za-z0-9]{40,}",
    "sntrys_": r"sntrys_\w{8,}[\w=+/-]{12,}",
    "glsa_": r"glsa_\w{20,}",  # Grafana
    "hvs.|hvb.": r"hv[sb]\.[\w-]{20,}",  # Vault
    "atatt": r"ATATT3\w{9,}[\w=-]{11,}",  # Atlassian
    "tskey-": r"tskey-[a-z]+-[\w-]{10,}",
    "pul-": r"pul-[0-9a-f]{40}",
    "fo1_": r"fo1_[\w-]{20,}",  # Fly.io
    "eyj": r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}",  # a JSON web token
    ":aa": r"\d{8,10}:AA[\w-]{33}",  # Telegram
}
_PRIVATE_KEY = r"()-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]{0,20000}?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"
_TOKEN_PREFIXES = tuple("|".join(TOKEN_KINDS).split("|"))
_SUSPICIOUS_WORDS = (*_SECRET_WORDS.split("|"), "authorization", "bearer", "://")
# Each token has a word so long, few texts do: looked for first, in a tenth of the time that searching prefixes takes.
MIN_TOKEN_WORD_BYTES = 15
WORD_BYTES = bytes(byte for byte in range(256) if byte >= 0x80 or chr(byte).isalnum() or byte in b"_.:-")
_LONG_WORD = b"w" * MIN_TOKEN_WORD_BYTES
_TO_LONG_WORDS = bytes(0x77 if byte in WORD_BYTES else 0x20 for byte in range(256))
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
    (("private key",), _PRIVATE_KEY),
    (_TOKEN_PREFIXES, rf"()(?<![A-Za-z0-9])(?:{'|'.join(TOKEN_KINDS.values())})(?![A-Za-z0-9])"),
)


def redact(text: str) -> str:
    """The text with values of secret names, headers and addresses replaced by stars."""
    lower = text.lower()
    if _has_any(lower, _SUSPICIOUS_WORDS) or (_has_long_word(text) and _has_any(lower, _TOKEN_PREFIXES)):
        for needs, rule in _RULES:
            if _has_any(lower, needs):
                text = re.sub(rule, rf"\g<1>{REDACTED}", text, flags=re.IGNORECASE)
    return text


def _has_long_word(text: str) -> bool:
    return _LONG_WORD in text.encode("utf-8", "surrogatepass").translate(_TO_LONG_WORDS)


def _has_any(text: str, signs: Sequence[str]) -> bool:
    for sign in signs:  # noqa: SIM110  # a generator for `any` takes twice the time
        if sign in text:
            return True
    return False


def redact_argv(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command; what follows `--api-key` as a word of its own is hidden too."""
    return tuple(redact(_WORD_SEPARATOR.join(words)).split(_WORD_SEPARATOR)) if words else ()


def redact_values(text: str, values: Sequence[str]) -> str:
    """The text without these values, the longest first."""
    for value in values:
        if value in text:
            text = text.replace(value, REDACTED)
    return text


def list_secret_values(variables: Mapping[str, str]) -> tuple[str, ...]:
    """What variables of secret names hold, the longest first; what is too short or too plain to be a secret is not."""
    found = {value for name, value in variables.items() if is_secret_name(name) and _may_be_secret(value)}
    return tuple(sorted(found, key=len, reverse=True))


def _may_be_secret(value: str) -> bool:
    return len(value) >= _MIN_SECRET_CHARS and not value.isdecimal() and not value.startswith(("/", "~", "."))


def is_secret_name(name: str) -> bool:
    """Whether a variable of that name is not for everybody's eyes."""
    lower = name.lower()
    return any(kind in lower for kind in _SECRET_WORDS.split("|"))
