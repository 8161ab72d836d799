"""A shell line is taken apart as far as programs and files go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.proofs.shell_line import join_path, parse_shell_line


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("make test", [("make test", "")]),
        ("cd sub && make test 2>&1 | tail -5", [("make test", "sub"), ("tail -5", "sub")]),
        ("(cd a; ./x.sh) && ./y.sh", [("./x.sh", "a"), ("./y.sh", "")]),
        ("cd a && cd b && pwd", [("pwd", "a/b")]),
        ('cd "$(dirname "$0")" && make', [("make", ""), ("dirname $0", "")]),
        ("if ! make lint; then exit 1; fi", [("make lint", ""), ("exit 1", "")]),
        ("pytest # make test", [("pytest", "")]),
        ("pytest > out.txt 2> err.txt", [("pytest", "")]),
        ("pytest tests \\\n  -q", [("pytest tests -q", "")]),
        ("a; b & c || d", [("a", ""), ("b", ""), ("c", ""), ("d", "")]),
        ("echo `make test`", [("echo $()", ""), ("make test", "")]),
        ("", []),
    ],
)
def test_a_line_is_its_simple_commands(line: str, commands: list[tuple[str, str]]) -> None:
    assert [(" ".join(each.words), each.folder) for each in parse_shell_line(line)] == commands


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pytest 'a b' c\\ d", ("pytest", "a b", "c d")),
        ('echo "a \\"b\\" $x"', ("echo", 'a "b" $x')),
        ("a 'never closed", ("a", "never closed")),
        ("a''b", ("ab",)),
    ],
)
def test_quotes_are_taken_away(line: str, words: tuple[str, ...]) -> None:
    assert parse_shell_line(line)[0].words == words


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("python3 calc.py | grep 4", "python3"),
        ('test "$(python3 calc.py)" = 4', "python3"),
        ("diff <(python3 app.py) expected.txt", "python3"),
    ],
)
def test_a_program_whose_output_is_read_does_not_judge(line: str, program: str) -> None:
    assert {each.words[0]: each.is_compared for each in parse_shell_line(line)}[program]


def test_the_last_of_a_pipe_judges() -> None:
    assert [each.is_compared for each in parse_shell_line("a | b")] == [True, False]


@given(st.text(alphabet="ab'\"\\$()`<>|&;# \n{}=", max_size=40))
def test_any_text_gives_commands(line: str) -> None:
    assert all(each.words for each in parse_shell_line(line))


@pytest.mark.parametrize(
    ("folder", "path", "joined"),
    [
        ("", "a/b", "a/b"),
        ("x", "../a", "a"),
        ("x", "./a/", "x/a"),
        ("", "../a", ""),
        ("", "/etc/x", ""),
        ("", "~/x", ""),
    ],
)
def test_paths_stay_inside_the_tree(folder: str, path: str, joined: str) -> None:
    assert join_path(folder, path) == joined
