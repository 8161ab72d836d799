"""`--detach`: the same command, in the background."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from ralph.app.control.background import start_in_background
from ralph.app.paths import find_project_paths

_CommandT = TypeVar("_CommandT", bound=Callable[..., object])
DETACH_NAMES = ("-d", "--detach")


def add_detach_option(*names: str) -> Callable[[_CommandT], _CommandT]:
    return click.option(
        *names,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_detach,
        help="Run in the background; follow with `ralph logs -f`, stop with `ralph cancel`.",
    )


def drop_detach_words(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """What the background process is started with; after `--` all words are another's."""
    end = words.index("--") if "--" in words else len(words)
    return [*(word for word in words[:end] if word not in names), *words[end:]]


def _detach(context: click.Context, option: click.Parameter, is_wanted: bool) -> None:
    if not is_wanted or context.resilient_parsing:
        return
    words = drop_detach_words(sys.argv[1:], option.opts)
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
