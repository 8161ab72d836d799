"""Text in columns."""

from ralph.faces.cli.terminal.columns import align_columns


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert align_columns([("id", "title"), ("TASK-1", "x")]) == ["id      title", "TASK-1  x"]


def test_cells_of_the_terminal_are_counted_not_characters() -> None:
    assert align_columns([("日本", "x"), ("e\u0301", "y"), ("abc", "z")]) == ["日本  x", "e\u0301     y", "abc   z"]


def test_numbers_stand_to_the_right() -> None:
    assert align_columns([("#", "a"), ("10", "b")], right=[0]) == [" #  a", "10  b"]


def test_no_line_ends_with_blanks() -> None:
    assert align_columns([("a", "long"), ("b", "")]) == ["a  long", "b"]


def test_one_long_cell_need_not_widen_its_column() -> None:
    assert align_columns([("a", "1"), ("bbb", "2"), ("b" * 9, "3")], widest=3) == ["a    1", "bbb  2", "bbbbbbbbb  3"]


def test_without_rows_there_are_no_lines() -> None:
    assert align_columns([]) == []
