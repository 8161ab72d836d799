"""The signs faces draw with: emoji, plain Unicode, or ASCII where a terminal has no more."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

GlyphChoice = Literal["auto", "emoji", "unicode", "ascii"]


class Glyphs(Struct, frozen=True):
    """One set of signs."""

    tool: str
    ok: str
    bad: str
    branch: str  # before the first line of a tool's output
    back: str  # from a result to its tool
    leads: str  # from a failure to what it does
    plan: str
    done: str
    active: str
    running: str  # an agent is at it
    pending: str
    progress: str
    check: str
    wait: str
    warn: str
    rule: str
    dot: str
    ellipsis: str
    unknown: str


EMOJI = Glyphs(
    tool="⏺",
    ok="✅",
    bad="❌",
    branch="  ⎿  ",
    back="←",
    leads="→",
    plan="📋 ",
    done="✅",
    active="🔄",
    running="🔄",
    pending="⏸️",
    progress="📊 ",
    check="🔍",
    wait="⏳",
    warn="⚠️",
    rule="━",
    dot="·",
    ellipsis="…",
    unknown="—",
)
UNICODE = Glyphs(
    tool="●",
    ok="✓",
    bad="✗",
    branch="  └ ",
    back="←",
    leads="→",
    plan="▸ ",
    done="☑",
    active="▸",
    running="↻",
    pending="☐",
    progress="",
    check="▸",
    wait="▸",
    warn="!",
    rule="━",
    dot="·",
    ellipsis="…",
    unknown="—",
)
ASCII = Glyphs(
    tool="*",
    ok="[OK]",
    bad="[ERR]",
    branch="  `- ",
    back="<-",
    leads="->",
    plan="",
    done="[x]",
    active="[>]",
    running="[>]",
    pending="[ ]",
    progress="",
    check=">",
    wait=">",
    warn="[WARN]",
    rule="=",
    dot="-",
    ellipsis="...",
    unknown="-",
)


def glyphs_for(choice: GlyphChoice, environment: Mapping[str, str], encoding: str | None) -> Glyphs:
    """The set asked for, or the best this terminal can draw. The console of Linux has no more than 512 signs."""
    match choice:
        case "emoji":
            return EMOJI
        case "unicode":
            return UNICODE
        case "ascii":
            return ASCII
        case "auto":
            drawable = environment.get("TERM") not in ("dumb", "linux") and _carries(encoding or "ascii")
            return UNICODE if drawable else ASCII


def _carries(encoding: str) -> bool:
    try:
        "●└✓✗▸↻☐☑━…·—←→".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
