"""Names a shell offers."""

from pathlib import Path

import click
import pytest

from ralph.faces.cli.main import ralph
from ralph.model.spec import Task
from support.board_room import BoardFixture


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BoardFixture:
    room = BoardFixture(tmp_path)
    room.put("Login", "Logout")
    room.tasks.add_new([Task("OTHER", "auth", "Other")])
    room.finish("TASK-002")
    monkeypatch.chdir(room.folder)
    return room


def offer(*words: str) -> list[str]:
    """As click's scripts ask: the words so far, and the beginning of the next."""
    from click.shell_completion import BashComplete

    shell = BashComplete(ralph, {}, "ralph", "_RALPH_COMPLETE")
    return [item.value for item in shell.get_completions([*words[:-1]], words[-1])]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (("task", "show", ""), ["TASK-001", "TASK-002", "OTHER"]),
        (("task", "edit", "O"), ["OTHER"]),
        (("execute", "TASK"), ["TASK-001"]),  # the other is done
        (("task", "create", "NEW", ""), ["auth"]),
        (("task", "list", "--spec", "a"), ["auth"]),
        (("board", "--spec", ""), ["auth"]),
        (("run", "--agent", "cl"), ["claude"]),
        (("run", "--until", ""), ["response", "promise", "file:"]),
        (("show", "do"), ["done"]),
        (("help", "execu"), ["execute"]),
        (("resu",), ["resume"]),
        (("sto",), ["story", "stop"]),
    ],
)
def test_names_are_offered(room: BoardFixture, typed: tuple[str, ...], offered: list[str]) -> None:
    assert offer(*typed) == offered


def test_without_a_repository_nothing_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert offer("task", "show", "") == []
    assert not list(tmp_path.iterdir())


def walk(command: click.Command, words: tuple[str, ...], parent: click.Context | None = None) -> list[tuple[str, str]]:
    """Every command with its help at 80 columns."""
    context = click.Context(command, info_name=words[-1], parent=parent, terminal_width=80, max_content_width=80)
    found = [(" ".join(words), command.get_help(context))]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            found += walk(below, (*words, name), context)
    return found


def test_every_line_of_the_help_is_whole_at_80_columns() -> None:
    lines = [(name, line) for name, text in walk(ralph, ("ralph",)) for line in text.splitlines()]
    assert [(name, line) for name, line in lines if len(line) > 80] == []
    cut = [(name, line) for name, line in lines if line.endswith("...") and not line.startswith("Usage")]
    assert cut == []


@pytest.mark.parametrize("name", ["run", "execute", "task", "story", "story run", "supervise"])
def test_the_help_ends_with_examples_that_can_be_typed(name: str) -> None:
    text = dict(walk(ralph, ("ralph",)))[f"ralph {name}"]
    head, _, examples = text.partition("\n  Examples:\n")
    assert "--help" in head
    typed = [line.strip() for line in examples.replace("\\\n", " ").splitlines() if line.strip()]
    assert typed
    for line in typed:
        parse_example(line)


def parse_example(line: str) -> None:
    import re
    import shlex

    program, *words = shlex.split(re.split(r" {3,}(?=[a-z])", line)[0])
    assert program == "ralph"
    command: click.Command = ralph
    context = click.Context(command, info_name=program)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, line
        command, words = found, words[1:]
        context = click.Context(command, info_name=command.name, parent=context)
    command.make_parser(context).parse_args(words)
