"""What suits a terminal."""

import io
import os
import pty
from collections.abc import Mapping

import pytest

from ralph.faces.cli.terminal.look import (
    DEFAULT_TERMINAL_WIDTH,
    MIN_TERMINAL_WIDTH,
    ColorChoice,
    TerminalStyle,
    resolve_style,
    resolve_width,
    wants_color,
)
from ralph.faces.glyphs import ASCII_GLYPHS, EMOJI_GLYPHS, UNICODE_GLYPHS, GlyphChoice, Glyphs, resolve_glyphs


@pytest.mark.parametrize(
    ("choice", "environment", "is_tty", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, True, False),
        ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
        ("auto", {"CLICOLOR_FORCE": "0"}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_who_decides_on_colour(  # 001-29
    choice: ColorChoice, environment: Mapping[str, str], is_tty: bool, expected: bool
) -> None:
    assert wants_color(choice, environment, is_tty) is expected


@pytest.mark.parametrize(
    ("choice", "environment", "encoding", "expected"),
    [
        ("auto", {"TERM": "xterm"}, "utf-8", UNICODE_GLYPHS),
        ("auto", {}, "UTF-8", UNICODE_GLYPHS),
        ("auto", {}, "ascii", ASCII_GLYPHS),
        ("auto", {}, "latin-1", ASCII_GLYPHS),
        ("auto", {}, "no-such-encoding", ASCII_GLYPHS),
        ("auto", {}, None, ASCII_GLYPHS),
        ("auto", {"TERM": "dumb"}, "utf-8", ASCII_GLYPHS),
        ("auto", {"TERM": "linux"}, "utf-8", ASCII_GLYPHS),
        ("emoji", {"TERM": "dumb"}, "ascii", EMOJI_GLYPHS),
        ("unicode", {"TERM": "dumb"}, "ascii", UNICODE_GLYPHS),
        ("ascii", {}, "utf-8", ASCII_GLYPHS),
    ],
)
def test_who_decides_on_glyphs(  # 001-29
    choice: GlyphChoice, environment: Mapping[str, str], encoding: str | None, expected: Glyphs
) -> None:
    assert resolve_glyphs(choice, environment, encoding) is expected


def test_ascii_glyphs_are_ascii() -> None:  # 001-29
    assert "".join(getattr(ASCII_GLYPHS, name) for name in ASCII_GLYPHS.__struct_fields__).isascii()
    assert (ASCII_GLYPHS.ok, ASCII_GLYPHS.bad) == ("[OK]", "[ERR]")


def test_a_log_has_timestamps_and_no_width() -> None:  # 001-29
    look = resolve_style(io.StringIO(), {})
    assert (look.is_tty, look.timestamps, look.width, look.color, look.progress) == (False, True, 0, False, False)


def test_a_terminal_has_a_width_and_no_timestamps() -> None:  # 001-29
    parent, child = pty.openpty()
    with open(child, "w", encoding="utf-8") as stream:
        look = resolve_style(stream, {"TERM": "xterm", "COLUMNS": "72"})
    os.close(parent)
    assert (look.is_tty, look.timestamps, look.width, look.color, look.progress) == (True, False, 72, True, True)
    assert look.glyphs is UNICODE_GLYPHS


def test_wishes_come_first() -> None:  # 001-29
    look = resolve_style(
        io.StringIO(), {}, timestamps=False, color="always", glyphs="emoji", max_output_lines=7, verbose=True
    )
    assert look == TerminalStyle(glyphs=EMOJI_GLYPHS, color=True, max_output_lines=7, verbose=True)


def test_a_dumb_terminal_has_no_progress_line() -> None:
    parent, child = pty.openpty()
    with open(child, "w", encoding="utf-8") as stream:
        assert not resolve_style(stream, {"TERM": "dumb"}).progress
        assert not resolve_style(stream, {"TERM": "xterm"}, progress=False).progress
    os.close(parent)


def test_nobody_listens_to_a_closed_stream() -> None:
    closed = io.StringIO()
    closed.close()
    assert not resolve_style(closed, {}).is_tty
    assert not resolve_style(None, {}).is_tty


@pytest.mark.parametrize(
    ("named", "expected"),
    [("100", 100), ("3", MIN_TERMINAL_WIDTH), ("0", DEFAULT_TERMINAL_WIDTH), ("wide", DEFAULT_TERMINAL_WIDTH)],
)
def test_the_width_is_what_columns_says_when_it_makes_sense(named: str, expected: int) -> None:
    assert resolve_width(None, {"COLUMNS": named}) == expected


def test_a_terminal_that_tells_no_width_has_the_usual_one() -> None:
    parent, child = pty.openpty()  # 0 columns until someone sets them
    with open(child, "w", encoding="utf-8") as stream:
        assert resolve_width(stream, {}) == DEFAULT_TERMINAL_WIDTH
    os.close(parent)


def test_without_colour_there_is_no_paint() -> None:  # 001-29
    assert all(getattr(TerminalStyle().palette, name) == "" for name in TerminalStyle().palette.__struct_fields__)
