"""`ralph show`: the receipt of a run."""

import os
import sys
import time

import click
import msgspec

from ralph.app.board.run_overview import load_titled_receipt
from ralph.app.paths import find_project_paths
from ralph.config.sources import load_settings
from ralph.faces.cli.options.output_flags import add_json_option, add_look_options
from ralph.faces.cli.options.run_names import complete_any_run
from ralph.faces.cli.pages.receipt import ReceiptPage
from ralph.faces.cli.terminal.look import resolve_style


@click.command()
@click.argument("run", default="", shell_complete=complete_any_run)
@add_look_options
@click.option("--markdown", "as_markdown", is_flag=True, help="Print it as Markdown, for a pull request.")
@add_json_option("Print it as one JSON object.")
def command(run: str, color: str | None, glyphs: str | None, as_markdown: bool, as_json: bool) -> None:
    """Show what RUN (or the last run) did, what was checked, what it cost, why it stopped, and its snapshots."""
    paths = find_project_paths(os.getcwd())
    if as_markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other")
    receipt = load_titled_receipt(paths, run, os.environ, time.time())
    if as_json:
        click.echo(msgspec.json.encode(receipt))
        return
    if as_markdown:
        from ralph.faces.reports.markdown import render_receipt_markdown  # only for who wants it

        click.echo(render_receipt_markdown(receipt), nl=False)
        return
    given = {"display.color": color, "display.glyphs": glyphs}
    display = load_settings(paths.folder, os.environ, given, seen_from=paths.started_in).settings.display
    style = resolve_style(
        sys.stdout, os.environ, glyphs=display.glyphs, color=display.color, max_check_lines=display.max_check_lines
    )
    click.echo(ReceiptPage(style, paths.started_in).render_receipt(receipt), color=style.color)
