"""What suits a terminal."""

import io
import os
import pty
from collections.abc import Mapping

import pytest

from ralph.faces.cli.terminal.look import NARROWEST, USUAL_WIDTH, ColorChoice, Look, look_for, wants_color, width_for
from ralph.faces.glyphs import ASCII, EMOJI, UNICODE, GlyphChoice, Glyphs, glyphs_for


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
        ("auto", {"TERM": "xterm"}, "utf-8", UNICODE),
        ("auto", {}, "UTF-8", UNICODE),
        ("auto", {}, "ascii", ASCII),
        ("auto", {}, "latin-1", ASCII),
        ("auto", {}, "no-such-encoding", ASCII),
        ("auto", {}, None, ASCII),
        ("auto", {"TERM": "dumb"}, "utf-8", ASCII),
        ("auto", {"TERM": "linux"}, "utf-8", ASCII),
        ("emoji", {"TERM": "dumb"}, "ascii", EMOJI),
        ("unicode", {"TERM": "dumb"}, "ascii", UNICODE),
        ("ascii", {}, "utf-8", ASCII),
    ],
)
def test_who_decides_on_glyphs(  # 001-29
    choice: GlyphChoice, environment: Mapping[str, str], encoding: str | None, expected: Glyphs
) -> None:
    assert glyphs_for(choice, environment, encoding) is expected


def test_ascii_glyphs_are_ascii() -> None:  # 001-29
    assert "".join(getattr(ASCII, name) for name in ASCII.__struct_fields__).isascii()
    assert (ASCII.ok, ASCII.bad) == ("[OK]", "[ERR]")


def test_a_log_has_timestamps_and_no_width() -> None:  # 001-29
    look = look_for(io.StringIO(), {})
    assert (look.is_tty, look.timestamps, look.width, look.color, look.progress) == (False, True, 0, False, False)


def test_a_terminal_has_a_width_and_no_timestamps() -> None:  # 001-29
    parent, child = pty.openpty()
    with open(child, "w", encoding="utf-8") as stream:
        look = look_for(stream, {"TERM": "xterm", "COLUMNS": "72"})
    os.close(parent)
    assert (look.is_tty, look.timestamps, look.width, look.color, look.progress) == (True, False, 72, True, True)
    assert look.glyphs is UNICODE


def test_wishes_come_first() -> None:  # 001-29
    look = look_for(
        io.StringIO(), {}, timestamps=False, color="always", glyphs="emoji", max_output_lines=7, verbose=True
    )
    assert look == Look(glyphs=EMOJI, color=True, max_output_lines=7, verbose=True)


def test_a_dumb_terminal_has_no_progress_line() -> None:
    parent, child = pty.openpty()
    with open(child, "w", encoding="utf-8") as stream:
        assert not look_for(stream, {"TERM": "dumb"}).progress
        assert not look_for(stream, {"TERM": "xterm"}, progress=False).progress
    os.close(parent)


def test_nobody_listens_to_a_closed_stream() -> None:
    closed = io.StringIO()
    closed.close()
    assert not look_for(closed, {}).is_tty
    assert not look_for(None, {}).is_tty


@pytest.mark.parametrize(
    ("named", "expected"), [("100", 100), ("3", NARROWEST), ("0", USUAL_WIDTH), ("wide", USUAL_WIDTH)]
)
def test_the_width_is_what_columns_says_when_it_makes_sense(named: str, expected: int) -> None:
    assert width_for(None, {"COLUMNS": named}) == expected


def test_a_terminal_that_tells_no_width_has_the_usual_one() -> None:
    parent, child = pty.openpty()  # 0 columns until someone sets them
    with open(child, "w", encoding="utf-8") as stream:
        assert width_for(stream, {}) == USUAL_WIDTH
    os.close(parent)


def test_without_colour_there_is_no_paint() -> None:  # 001-29
    assert all(getattr(Look().paint, name) == "" for name in Look().paint.__struct_fields__)
