"""`ralph board`: tasks in lanes, agents in slots, and what they do now."""

import os
import sys

import click

from ralph.app.board.specs import load_spec
from ralph.app.board.watch import BoardReader
from ralph.app.paths import find_project_paths
from ralph.app.runs.status import explain_lost_records
from ralph.config.sources import load_settings
from ralph.faces.board_words import describe_empty_board
from ralph.faces.cli.options.board_screen import has_screen, open_board_screen
from ralph.faces.cli.options.known_names import complete_spec
from ralph.faces.cli.options.output_flags import add_json_option, add_look_options, add_plain_option
from ralph.faces.cli.pages.board import render_board_json, render_board_text, render_plain_board
from ralph.faces.glyphs import resolve_glyphs


@click.command()
@click.option("--once", is_flag=True, help="Print once and exit (the default when not a terminal).")
@click.option("--spec", default="", metavar="NAME", help="Only tasks of this spec.", shell_complete=complete_spec)
@add_look_options
@add_plain_option
@add_json_option("Print the board once as JSON.")
def command(once: bool, spec: str, color: str | None, glyphs: str | None, plain: bool | None, as_json: bool) -> int:
    """Watch tasks go through the lanes, and what every running agent does.

    Keys: arrows or h j k l move, Enter shows details, / filters, ? shows all keys, q quits.
    """
    paths = find_project_paths(os.getcwd())
    given = {"display.color": color, "display.glyphs": glyphs, "display.plain": plain}
    settings = load_settings(paths.folder, os.environ, given, seen_from=paths.started_in).settings
    if spec:
        load_spec(paths, spec)  # one that is not there is told
    glyph_set = resolve_glyphs(settings.display.glyphs, os.environ, sys.stdout.encoding)
    reader = BoardReader(paths, spec)
    is_plain = settings.display.plain
    if as_json or once or is_plain or not has_screen():
        view = reader.read_view()
        if as_json:
            click.echo(render_board_json(view))
        else:
            empty = describe_empty_board(explain_lost_records(paths))
            click.echo(render_plain_board(view, empty) if is_plain else render_board_text(view, glyph_set, empty))
        return 0
    return open_board_screen(paths, reader, settings)
