"""Options on how a command shows things: as JSON, in colour, with which glyphs, and how much of it."""

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from ralph.faces.cli.terminal.look import ColorChoice
from ralph.faces.glyphs import GlyphChoice

CommandT = TypeVar("CommandT", bound=Callable[..., Any])  # click's own bound


def add_json_option(help_text: str = "Print JSON.") -> Callable[[CommandT], CommandT]:
    """--json, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=help_text)


def add_verbose_option(help_text: str = "Show everything ralph does, on stderr.") -> Callable[[CommandT], CommandT]:
    return click.option("-V", "--verbose", is_flag=True, help=help_text)


def add_look_options(command: CommandT) -> CommandT:
    """--color and --glyphs, which override the settings."""
    command = click.option("--glyphs", type=click.Choice(get_args(GlyphChoice)), help="Which symbols to use.")(command)
    return click.option("--color", type=click.Choice(get_args(ColorChoice)), help="Whether to use colours.")(command)


def add_plain_option(command: CommandT) -> CommandT:
    """--plain, which overrides the setting."""
    return click.option(
        "--plain", is_flag=True, default=None, help="Whole sentences, nothing redrawn: for screen readers."
    )(command)


EVENTS_JSON_HELP = "Print events as lines of JSON."
