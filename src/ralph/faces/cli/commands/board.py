"""`ralph board`: tasks in lanes, agents in slots, and what they do now."""

import os
import sys

import click


@click.command()
@click.option("--once", is_flag=True, help="Print the board once and leave; so it is without a terminal, too.")
@click.option("--spec", default="", metavar="NAME", help="Only tasks of this spec.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]))
@click.option("--glyphs", type=click.Choice(["auto", "emoji", "unicode", "ascii"]))
@click.option("--json", "as_json", is_flag=True, help="Print the board once as JSON.")
def command(once: bool, spec: str, color: str | None, glyphs: str | None, as_json: bool) -> int:
    """Watch tasks go through the lanes, and what every running agent does.

    Keys: arrows or h j k l move, Enter shows a task, / filters, x cancels, ? helps, q quits.
    """
    from ralph.app import paths as places
    from ralph.app.board import specs
    from ralph.app.board.watch import BoardReader
    from ralph.config.sources import load_settings
    from ralph.faces.cli.pages.board import render_board_json, render_board_text
    from ralph.faces.cli.terminal.look import wants_color
    from ralph.faces.glyphs import resolve_glyphs

    here = places.find_paths(os.getcwd())
    given = {"display.color": color, "display.glyphs": glyphs}
    settings = load_settings(here.folder, os.environ, {key: value for key, value in given.items() if value}).settings
    if spec:
        specs.load_spec(here, spec)  # one that is not there is told
    signs = resolve_glyphs(settings.display.glyphs, os.environ, sys.stdout.encoding)
    lookout = BoardReader(here, spec)
    if as_json or once or not _has_screen():
        view = lookout.read_view()
        click.echo(render_board_json(view) if as_json else render_board_text(view, signs))
        return 0
    lookout.read_view()  # what is wrong with the database is told on a terminal that is still the user's
    from ralph.faces.tui.app import run_board_app  # the one door from this face to that one

    if not wants_color(settings.display.color, os.environ, is_tty=True):
        os.environ["NO_COLOR"] = "1"
    return run_board_app(here, lookout, settings, signs)


def _has_screen() -> bool:
    """Whether there is someone who looks and types. The screen is drawn on stderr."""
    from ralph.faces.cli.terminal.look import has_terminal

    streams = (sys.stdin, sys.stdout, sys.stderr)
    return os.environ.get("TERM") not in (None, "dumb") and all(map(has_terminal, streams))
