"""Nothing but text reaches a terminal."""

import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.text import plain as module
from ralph.core.text.plain import count_cells, one_line, sanitize, take_first_lines, truncate_cells, wrap_text

HOSTILE = {
    "OSC 52 writes the clipboard": ("a\x1b]52;c;cm0gLXJm\x07b", "ab"),
    "OSC 52 ended by ST": ("a\x1b]52;c;cm0gLXJm\x1b\\b", "ab"),
    "OSC 0 sets the title": ("\x1b]0;pwn\x07x", "x"),
    "OSC 8 hides where a link leads": ("\x1b]8;;http://e\x1b\\txt\x1b]8;;\x1b\\", "txt"),
    "OSC 1337 sends a file": ("\x1b]1337;File=name=eA==:AAAA\x07.", "."),
    "OSC in C1 form": ("\x9d52;c;AAAA\x9c z", " z"),
    "OSC without an end": ("\x1b]52;c;AAAA", ""),
    "OSC without an end hides no line but its own": ("\x1b]52;c;AAAA\nFAILED", "\nFAILED"),
    "DCS, as tmux passes it on": ("\x1bPtmux;\x1b\x1b]52;c;AA\x07\x1b\\k", "k"),
    "DCS in C1 form": ("\x90q#0\x9ck", "k"),
    "APC, as kitty draws": ("\x1b_Gf=100;AAAA\x1b\\q", "q"),
    "PM and SOS": ("\x1b^secret\x1b\\\x1bXsecret\x1b\\q", "q"),
    "CSI asks where the cursor is": ("\x1b[6nx", "x"),
    "CSI moves up and erases": ("\x1b[5A\x1b[2Kfake OK", "fake OK"),
    "CSI in C1 form": ("\x9b2Jx", "x"),
    "CSI with private marks": ("\x1b[?1049h\x1b[>4;2mx", "x"),
    "CSI without an end": ("\x1b[31", ""),
    "colour": ("\x1b[31mred\x1b[0m", "red"),
    "another alphabet": ("\x1b(0lqk\x1b(B", "lqk"),
    "full reset": ("\x1bcx", "x"),
    "a lone escape": ("x\x1b", "x"),
    "an escape inside an escape": ("\x1b\x1b[31m[0mx", "[0mx"),
    "carriage return overwrites": ("FAILED\rPASSED", "FAILED\nPASSED"),
    "line ends of Windows": ("a\r\nb", "a\nb"),
    "backspace": ("rm\x08\x08ls", "rmls"),
    "NUL, BEL and DEL": ("a\0b\x07c\x7f", "abc"),
    "vertical moves": ("a\vb\fc", "a\nb\nc"),
    "separators of Unicode": ("a\u2028b\u2029c", "a\nb\nc"),
    "bidi": ("a\u202eb\u2066c\u2069\u200fd", "abcd"),
    "zero width": ("a\u200bb\u200dc\u2060d\ufeffe\xad", "abcde"),
    "tag characters": ("hi\U000e0041\U000e0042", "hi"),
    "surrogates": ("a\ud800b\udcff", "ab"),
    "every C1": ("a" + "".join(map(chr, range(0x80, 0x9B))), "a"),
}
FLOODS = {
    "OSC begins": "\x1b]" * 1_000_000,
    "one endless OSC": "\x1b]" + "a" * 2_000_000,
    "DCS on each line": "\x1bPa\n" * 500_000,
    "one endless CSI": "\x1b[" + "1;" * 1_000_000,
    "CSI cut short": "\x1b[1;1 " * 300_000,
    "C1 strings": "\x90a" * 1_000_000,
    "carriage returns": "\r" * 2_000_000,
    "escapes": "\x1b" * 2_000_000,
    "intermediates": "\x1b" + " " * 2_000_000,
}
ANY_TEXT = st.text(st.characters() | st.sampled_from("\x1b\x9b\x9d[]P\\\x07\x9c\r\n\t;m日\u0301é✅"))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_becomes_its_text(name: str) -> None:  # 001-28: the display shows, it never obeys
    given_text, expected = HOSTILE[name]
    assert sanitize(given_text) == expected


@pytest.mark.parametrize(
    "text", ["", "plain", "two\nlines", "a\ttab", "naïve café ✓ → … “x”", "日本語", "é ❤️ 👍🏽", "a\xa0b\u3000c", "�"]
)
def test_text_is_left_alone(text: str) -> None:
    assert sanitize(text) is text or sanitize(text) == text


def test_clean_text_is_not_even_copied() -> None:
    text = "line of a tool's output → café\n" * 50
    assert sanitize(text) is text


@given(ANY_TEXT)
def test_what_is_left_holds_no_control_character(text: str) -> None:
    left = sanitize(text)
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") for c in left)
    assert not set(left) & set(
        "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
    )


@given(ANY_TEXT)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert sanitize(sanitize(text)) == sanitize(text)


@given(ANY_TEXT)
def test_nothing_visible_is_added(text: str) -> None:
    assert set(sanitize(text)) - {"\n"} <= set(text)


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_costs_its_length(name: str) -> None:
    began = time.process_time()
    left = sanitize(FLOODS[name])
    assert "\x1b" not in left
    assert time.process_time() - began < 10  # quadratic work would take hours


def test_ascii_text_loads_no_tables() -> None:
    """Start-up: `unicodedata` is 1 MB."""
    import subprocess

    code = (
        "import sys; before = 'unicodedata' in sys.modules\n"
        "from ralph.core.text.plain import sanitize, count_cells, wrap_text, one_line\n"
        "sanitize('x'); count_cells('x'); wrap_text('x y', 2); one_line('x', 9)\n"
        "assert 'unicodedata' not in sys.modules or before"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("abc", 3),
        ("日本", 4),
        ("e\u0301", 1),
        ("✅", 2),
        ("✓", 1),
        ("⏸️", 2),
        ("한글", 4),
        ("각", 2),
        ("“…”", 3),
    ],
)
def test_cells_are_those_of_a_terminal(text: str, width: int) -> None:
    assert count_cells(text) == width


def test_what_counts_as_ordinary_is_text_of_one_cell() -> None:
    """The fast path and the careful one agree on every character there is."""
    for code in range(0x80, sys.maxunicode + 1):
        character = chr(code)
        if module._odd_pattern().search(character) is None:
            assert sanitize(character) == character, hex(code)
            assert count_cells(character) == 1, hex(code)


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("one too long", 11, "one too lo…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("abc", 1, "a"),
        ("abc", 0, ""),
        ("日", 1, ""),
        ("abc", -3, ""),
    ],
)
def test_fitted_cuts_to_cells(text: str, width: int, expected: str) -> None:
    assert truncate_cells(text, width) == expected


def test_fitted_has_room_for_a_longer_ellipsis() -> None:
    assert truncate_cells("a long line", 8, "...") == "a lon..."


@given(ANY_TEXT, st.integers(0, 30))
def test_one_line_is_one_line_and_fits(text: str, width: int) -> None:
    line = one_line(text, width)
    assert "\n" not in line
    assert "\t" not in line
    assert sanitize(line) == line
    assert count_cells(line) <= width


@given(ANY_TEXT, st.integers(1, 5), st.integers(1, 30))
def test_first_lines_are_few_and_fit(text: str, most: int, width: int) -> None:
    lines = take_first_lines(text, most, width)
    assert 1 <= len(lines) <= most
    for line in lines:
        assert "\n" not in line
        assert sanitize(line) == line
        assert count_cells(line) <= width


@given(ANY_TEXT, st.integers(2, 30))
def test_wrapped_lines_fit_and_lose_nothing_but_blanks(text: str, width: int) -> None:
    lines = wrap_text(text, width)
    assert all(count_cells(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(sanitize(text).split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a few words and more", ["a few", "words and", "more"]),
        ("nospacesinthisword", ["nospacesin", "thisword"]),
        ("    indentedword", ["    indent", "edword"]),
        ("日本語 abc 日本語日本語", ["日本語 abc", "日本語日本", "語"]),
        ("one\n\ntwo", ["one", "", "two"]),
        ("\tx", ["    x"]),
    ],
)
def test_wrapped_breaks_between_words(text: str, expected: list[str]) -> None:
    assert wrap_text(text, 10) == expected


def test_a_wide_character_in_one_column_does_not_hang() -> None:
    assert wrap_text("日本", 1) == ["日", "本"]


def test_one_line_folds_a_script() -> None:
    assert one_line("cat <<E\n    x\tand\n    y\nE", 40) == "cat <<E x and y E"


def test_one_line_looks_at_no_more_than_can_matter() -> None:
    assert one_line("x" * 10_000_000, 10) == "x" * 9 + "…"
    assert one_line("\x1b[31m" * 1_000_000, 10) == "…"


def test_first_lines_show_where_they_were_cut() -> None:
    assert take_first_lines("a\nb\nc\nd", 3, 9) == ["a", "b", "c"]
    assert take_first_lines("x" * 100, 2, 9) == ["x" * 8 + "…"]
    assert take_first_lines("1234567\n12345\n" + "y" * 50, 3, 9) == ["1234567", "12345", "y" * 8 + "…"]
    assert take_first_lines("日本語日本語", 1, 5) == ["日本…"]
    assert take_first_lines("\x1b[1mbold\x1b[0m\n\x1b]0;t\x07x", 2, 9) == ["bold", "x"]
