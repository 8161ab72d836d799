"""The signs faces draw with: emoji, plain Unicode, or ASCII where a terminal has no more."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

GlyphChoice = Literal["auto", "emoji", "unicode", "ascii"]


class Glyphs(Struct, frozen=True, kw_only=True):
    """One set of signs."""

    tool: str
    ok: str
    bad: str
    branch: str  # before the first line of a tool's output
    left_arrow: str  # from a result to its tool
    right_arrow: str  # from a failure to what it does
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
    about: str  # before an amount that is estimated
    minus: str  # before a number of removed lines, and before each
    strip_ok: str  # an iteration whose checks passed, in one cell
    strip_bad: str
    agent_ended: str = "Agent finished"


EMOJI_GLYPHS = Glyphs(
    tool="⏺",
    ok="✅",
    bad="❌",
    branch="  ⎿  ",
    left_arrow="←",
    right_arrow="→",
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
    about="≈",
    minus="−",
    strip_ok="✓",
    strip_bad="✗",
    agent_ended="Complete",  # 001-28 has the whole line, with these signs
)
UNICODE_GLYPHS = Glyphs(
    tool="●",
    ok="✓",
    bad="✗",
    branch="  └ ",
    left_arrow="←",
    right_arrow="→",
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
    about="≈",
    minus="−",
    strip_ok="✓",
    strip_bad="✗",
)
ASCII_GLYPHS = Glyphs(
    tool="*",
    ok="[OK]",
    bad="[ERR]",
    branch="  `- ",
    left_arrow="<-",
    right_arrow="->",
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
    about="~",
    minus="-",
    strip_ok="+",
    strip_bad="x",
)


PLAIN_GLYPHS = Glyphs(  # words: a screen reader says them
    tool="Tool",
    ok="OK:",
    bad="Failed:",
    branch="  ",
    left_arrow="from",
    right_arrow="Next:",
    plan="",
    done="Done:",
    active="Now:",
    running="Working:",
    pending="To do:",
    progress="",
    check="Check:",
    wait="Waiting:",
    warn="Problem:",
    rule="",
    dot=",",
    ellipsis="...",
    unknown="unknown",
    about="about ",
    minus="minus ",
    strip_ok="+",
    strip_bad="x",
)


def resolve_glyphs(choice: GlyphChoice, environment: Mapping[str, str], encoding: str | None) -> Glyphs:
    """The set asked for, or the best this terminal can draw. The console of Linux has no more than 512 signs."""
    match choice:
        case "emoji":
            return EMOJI_GLYPHS
        case "unicode":
            return UNICODE_GLYPHS
        case "ascii":
            return ASCII_GLYPHS
        case "auto":
            drawable = environment.get("TERM") not in ("dumb", "linux") and _can_encode_glyphs(encoding or "ascii")
            return UNICODE_GLYPHS if drawable else ASCII_GLYPHS


def _can_encode_glyphs(encoding: str) -> bool:
    try:
        "●└✓✗▸↻☐☑━…·—←→≈−".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
