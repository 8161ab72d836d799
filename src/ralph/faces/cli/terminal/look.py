"""How output looks on this terminal: glyphs, colours, width and what is left out."""

import os
from collections.abc import Mapping
from typing import Literal, TextIO

from msgspec import Struct

from ralph.faces.glyphs import UNICODE_GLYPHS, GlyphChoice, Glyphs, resolve_glyphs

ColorChoice = Literal["auto", "always", "never"]

DEFAULT_TERMINAL_WIDTH = 80  # of a terminal that does not tell
MIN_TERMINAL_WIDTH = 24
DEFAULT_LOG_WIDTH = 200  # of one-line things where no terminal sets a width


class Palette(Struct, frozen=True, kw_only=True):
    """ANSI codes by name; all empty where colour is off."""

    bold: str = ""
    dim: str = ""
    red: str = ""
    green: str = ""
    yellow: str = ""
    cyan: str = ""
    off: str = ""


NO_PALETTE = Palette()
ANSI_PALETTE = Palette(
    bold="\x1b[1m", dim="\x1b[2m", red="\x1b[31m", green="\x1b[32m", yellow="\x1b[33m", cyan="\x1b[36m", off="\x1b[0m"
)


class TerminalStyle(Struct, frozen=True, kw_only=True):
    """What the terminal can do and what the user wants to see."""

    glyphs: Glyphs = UNICODE_GLYPHS
    color: bool = False
    width: int = 0  # cells in a line; 0: a log, whose lines are not wrapped
    timestamps: bool = False
    max_output_lines: int = 3  # of one tool's output
    max_output_chars: int = 120  # of each of these lines
    max_check_lines: int = 5  # of what a failed check printed
    max_edit_lines: int = 6  # of what an edit changes
    verbose: bool = False
    is_tty: bool = False
    progress: bool = False  # a line at the bottom that tells what goes on now
    stream_agent_output: bool = True
    bell: bool = False  # rung when a run ends
    folder: str = ""  # paths below it are shown relative to it

    @property
    def palette(self) -> Palette:
        return ANSI_PALETTE if self.color else NO_PALETTE


def resolve_style(
    stream: TextIO | None,
    environment: Mapping[str, str],
    *,
    glyphs: GlyphChoice = "auto",
    color: ColorChoice = "auto",
    timestamps: bool | None = None,
    max_output_lines: int = 3,
    max_output_chars: int = 120,
    max_check_lines: int = 5,
    max_edit_lines: int = 6,
    verbose: bool = False,
    stream_agent_output: bool = True,
    progress: bool = True,
    bell: bool = False,
    folder: str = "",
) -> TerminalStyle:
    """The style for this stream, by its terminal, the environment and the user's choices."""
    is_tty = has_terminal(stream)
    return TerminalStyle(
        glyphs=resolve_glyphs(glyphs, environment, getattr(stream, "encoding", None)),
        color=wants_color(color, environment, is_tty),
        width=resolve_width(stream, environment) if is_tty else 0,
        timestamps=not is_tty if timestamps is None else timestamps,
        max_output_lines=max_output_lines,
        max_output_chars=max_output_chars,
        max_check_lines=max_check_lines,
        max_edit_lines=max_edit_lines,
        verbose=verbose,
        is_tty=is_tty,
        progress=progress and is_tty and environment.get("TERM") != "dumb",
        stream_agent_output=stream_agent_output,
        bell=bell and is_tty,
        folder=folder,
    )


def wants_color(choice: ColorChoice, environment: Mapping[str, str], is_tty: bool) -> bool:
    """The flag, then NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, then a terminal that is not dumb."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    forced = environment.get("FORCE_COLOR") or environment.get("CLICOLOR_FORCE")
    if forced:
        return forced not in ("0", "false")
    return is_tty and environment.get("TERM") != "dumb"


def has_terminal(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal; a closed stream is not."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def resolve_width(stream: TextIO | None, environment: Mapping[str, str]) -> int:
    """$COLUMNS if set, else the terminal's width; never below MIN_TERMINAL_WIDTH."""
    named = environment.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return max(MIN_TERMINAL_WIDTH, int(named))
    try:
        return max(MIN_TERMINAL_WIDTH, read_terminal_width(stream.fileno())) if stream else DEFAULT_TERMINAL_WIDTH
    except (OSError, ValueError):
        return DEFAULT_TERMINAL_WIDTH


def read_terminal_width(fd: int) -> int:
    """The terminal's width now, DEFAULT_TERMINAL_WIDTH where it has none."""
    try:
        return os.get_terminal_size(fd).columns or DEFAULT_TERMINAL_WIDTH
    except OSError:
        return DEFAULT_TERMINAL_WIDTH
