"""The board on this terminal: by itself, or with `--board` beside a run that goes on in the background."""

import os
import sys
import time
from collections.abc import Mapping

import click

from ralph.app.board.watch import BoardReader
from ralph.app.control.background import BackgroundStart, start_in_background
from ralph.app.control.owned_run import OwnedRun
from ralph.app.paths import Paths, find_project_paths
from ralph.config.schema import Settings
from ralph.config.sources import load_settings
from ralph.faces.cli.options.board_option import BOARD_NAME
from ralph.faces.cli.options.detach import drop_detach_words, list_detach_names, list_valued_options
from ralph.faces.cli.terminal.look import has_terminal, wants_color
from ralph.faces.glyphs import resolve_glyphs

MAX_STOP_SECONDS = 10.0  # until the process of a run that was stopped has ended


def has_screen() -> bool:
    """Whether there is someone who looks and types. The screen is drawn on stderr."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return os.environ.get("TERM") not in (None, "dumb") and all(map(has_terminal, streams))


def open_board_screen(paths: Paths, reader: BoardReader, settings: Settings, owned: OwnedRun | None = None) -> int:
    reader.read_view()  # what is wrong with the database is told on a terminal that is still the user's
    from ralph.faces.tui.app import run_board_app  # Textual takes 0.3 s to import: only for who watches

    glyphs = resolve_glyphs(settings.display.glyphs, os.environ, sys.stdout.encoding)
    if not wants_color(settings.display.color, os.environ, is_tty=True):
        os.environ["NO_COLOR"] = "1"
    return run_board_app(paths, reader, settings, glyphs, owned=owned)


def run_with_board(context: click.Context) -> None:
    """The same command in the background, and the board here until the user quits."""
    if not has_screen():
        raise click.UsageError(f"{BOARD_NAME} needs a terminal; use --detach, and `ralph board` in a terminal")
    paths = find_project_paths(os.getcwd())
    settings = load_settings(paths.folder, os.environ, _read_look(sys.argv), seen_from=paths.started_in).settings
    names = (BOARD_NAME, *list_detach_names(context.command))
    words = drop_detach_words(sys.argv[1:], names, list_valued_options(context.command))
    started = start_in_background(words, paths, os.environ)
    if started.exit_code is not None:
        _print_log(started)
        context.exit(started.exit_code)
    owned = OwnedRun(started, is_execute=context.info_name == "execute")
    open_board_screen(paths, BoardReader(paths), settings, owned)
    context.exit(_tell_end(owned))


def _tell_end(owned: OwnedRun) -> int:
    """How it ended, or that it goes on; the exit code."""
    deadline = time.monotonic() + MAX_STOP_SECONDS
    while owned.is_running() and owned.is_stopping and time.monotonic() < deadline:
        time.sleep(0.05)
    name = f"Run {owned.run}" if owned.run and not owned.is_execute else "`ralph execute`" if owned.is_execute else "It"
    if owned.exit_code is None:
        click.echo(f"{name} runs in the background (pid {owned.pid}).")
        click.echo(
            "Watch it with: ralph board" + ("" if owned.is_execute else f"  Stop it with: ralph cancel {owned.run}")
        )
        return 0
    click.echo(f"{name} has ended with exit code {owned.exit_code}. See: ralph status")
    return owned.exit_code


def _print_log(started: BackgroundStart) -> None:
    with open(started.log, encoding="utf-8", errors="replace") as file:
        click.echo(file.read(), nl=False, err=started.exit_code != 0)


def _read_look(words: list[str]) -> Mapping[str, object]:
    """--color and --glyphs are not parsed yet."""
    found: dict[str, object] = {}
    for name in ("color", "glyphs"):
        for at, word in enumerate(words):
            if word == f"--{name}" and at + 1 < len(words):
                found[f"display.{name}"] = words[at + 1]
            elif word.startswith(f"--{name}="):
                found[f"display.{name}"] = word.partition("=")[2]
    return found
