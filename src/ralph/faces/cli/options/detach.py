"""`--detach`: the same command, in the background."""

import os
import sys
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import click

from ralph.app.control.background import start_in_background
from ralph.app.paths import find_project_paths

_CommandT = TypeVar("_CommandT", bound=Callable[..., object])
DETACH_NAMES = ("-d", "--detach")


def add_detach_option(*names: str) -> Callable[[_CommandT], _CommandT]:
    aside = "" if DETACH_NAMES[0] in names else " (-d is the project here)"
    return click.option(
        *names,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_detach,
        help=f"Run in the background{aside}; follow with `ralph logs -f`, stop with `ralph cancel`.",
    )


def drop_detach_words(words: Sequence[str], names: Collection[str], valued: Collection[str] = ()) -> list[str]:
    """What the background process is started with, or it would detach again, without end; after `--` all words are
    another's. `valued`: options whose next word is their value."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            return [*kept, word, *rest]
        left, has_value = _drop_letters(word, names, valued)
        if left:
            kept.append(left)
        if has_value:
            kept += [value for value in [next(rest, None)] if value is not None]
    return kept


def list_valued_options(command: click.Command) -> set[str]:
    """Those that take the next word, whatever it is."""
    options = [each for each in command.params if isinstance(each, click.Option) and not (each.is_flag or each.count)]
    return {name for each in options if not isinstance(each.flag_value, str) for name in each.opts}


def list_detach_names(command: click.Command) -> tuple[str, ...]:
    """`-d` is another option of some."""
    return next((tuple(each.opts) for each in command.params if DETACH_NAMES[-1] in each.opts), ())


def _drop_letters(word: str, names: Collection[str], valued: Collection[str]) -> tuple[str, bool]:
    """The word without those names, -dm is -m, and whether the next word is its value. Of letters in one word, all up
    to one that has a value are options."""
    if word in names:
        return "", False
    if word[:1] != "-" or word[1:2] in ("-", ""):
        return word, word in valued
    kept = "-"
    for at, letter in enumerate(word[1:], start=1):
        if f"-{letter}" in valued:
            return kept + word[at:], at == len(word) - 1
        kept += "" if f"-{letter}" in names else letter
    return kept if kept != "-" else "", False


def _detach(context: click.Context, option: click.Parameter, is_wanted: bool) -> None:
    if not is_wanted or context.resilient_parsing:
        return
    words = drop_detach_words(sys.argv[1:], option.opts, list_valued_options(context.command))
    started = start_in_background(words, find_project_paths(os.getcwd()), os.environ)
    if started.exit_code is not None:
        with open(started.log, encoding="utf-8", errors="replace") as file:
            click.echo(file.read(), nl=False, err=started.exit_code != 0)
        context.exit(started.exit_code)
    name = f"Run {started.run}" if started.run else "It"
    click.echo(f"{name} runs in the background (pid {started.pid}).")
    is_known_here = started.run and not started.is_elsewhere
    follow = f"ralph logs -f {started.run}" if is_known_here else f"tail -f {started.log}"
    click.echo(f"Follow it with: {follow}")
    context.exit(0)
