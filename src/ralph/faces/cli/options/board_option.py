"""`--board`: the same command, with the board on this terminal."""

from collections.abc import Callable
from typing import TypeVar

import click

_CommandT = TypeVar("_CommandT", bound=Callable[..., object])
BOARD_NAME = "--board"


def add_board_option(command: _CommandT) -> _CommandT:
    return click.option(
        BOARD_NAME,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_board,
        help="Show the board while it runs; on quitting, detach or stop.",
    )(command)


def _show_board(context: click.Context, option: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not context.resilient_parsing:
        from ralph.faces.cli.options.board_screen import run_with_board  # reads all tasks: only for who watches

        run_with_board(context)
