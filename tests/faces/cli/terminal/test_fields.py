"""A name and its value."""

import pytest

from ralph.core.text.plain import count_cells
from ralph.faces.cli.terminal.fields import format_field


def test_a_value_stands_beside_its_name() -> None:
    assert format_field("Agent", "claude", 80) == "Agent      claude"


@pytest.mark.parametrize("width", [40, 80])
def test_a_long_value_is_wrapped_beside_its_name_and_cut_in_the_end(width: int) -> None:
    lines = format_field("Command", "word " * 200, width).splitlines()
    assert len(lines) == 3
    assert all(count_cells(line) < width for line in lines)
    assert lines[0].startswith("Command    word")
    assert all(line.startswith("           word") for line in lines[1:])
    assert lines[-1].endswith("…")


def test_what_others_print_cannot_move_the_cursor() -> None:
    assert "\x1b" not in format_field("Agent", "\x1b[2Jclaude", 80)
