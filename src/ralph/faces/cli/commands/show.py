"""`ralph show`: the receipt of a run."""

import os
import sys
import time

import click

from ralph.faces.cli.options.run_names import complete_any_run


@click.command()
@click.argument("run", default="", shell_complete=complete_any_run)
@click.option("--color", type=click.Choice(["auto", "always", "never"]))
@click.option("--glyphs", type=click.Choice(["auto", "emoji", "unicode", "ascii"]))
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON object.")
def command(run: str, color: str | None, glyphs: str | None, as_json: bool) -> None:
    """Show what RUN (or the last run) did, what was checked, what it cost, why it stopped, and what was kept."""
    import msgspec

    from ralph.app import paths as places
    from ralph.app.runs import receipt
    from ralph.config.sources import load_settings
    from ralph.faces.cli.pages.receipt import ReceiptPage
    from ralph.faces.cli.terminal.look import resolve_style

    here = places.find_paths(os.getcwd())
    found = receipt.build_receipt(here, run, os.environ, time.time())
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    given = {"display.color": color, "display.glyphs": glyphs}
    wanted = load_settings(
        here.folder, os.environ, {key: value for key, value in given.items() if value}
    ).settings.display
    look = resolve_style(sys.stdout, os.environ, glyphs=wanted.glyphs, color=wanted.color)
    click.echo(ReceiptPage(look, here.folder).render_receipt(found), color=look.color)
