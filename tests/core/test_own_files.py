"""What in a work tree is ralph's own doing."""

import pytest

from ralph.core.own_files import adds_only_own_ignores, is_own_file


@pytest.mark.parametrize(
    ("name", "own"),
    [(".ralph/settings.json", True), ("below/.ralph/x.log", True), ("ralph/prd.md", False), ("x.ralph/y", False)],
)
def test_files_in_a_dot_ralph_are_ours(name: str, own: bool) -> None:
    assert is_own_file(name) is own


@pytest.mark.parametrize(
    ("before", "after", "own"),
    [
        ("*.o\n", "*.o\n.ralph/*.log\n.ralph/state/\n", True),
        ("*.o", "*.o\n.ralph-active\n", True),
        ("", ".ralph/*.log\n", True),
        ("*.o\r\n", "*.o\r\n.ralph/*.log\r\n", True),
        ("*.o\n", "*.o\n.ralph/*.log\nmine\n", False),
        ("*.o\n", ".ralph/*.log\n", False),
        ("a\nb\n", "b\na\n", False),
    ],
)
def test_lines_that_init_adds_to_gitignore_are_ours(before: str, after: str, own: bool) -> None:
    assert adds_only_own_ignores(before, after) is own
