"""`ralph cancel`: end a run from another terminal, its work kept."""

import os

import click

from ralph.faces.cli.options.run_names import complete_active_run


@click.command()
@click.argument("run", default="", shell_complete=complete_active_run)
@click.option("--json", "as_json", is_flag=True, help="Print the run's record as JSON.")
def command(run: str, as_json: bool) -> None:
    """End the active run RUN (or the only one) within two seconds. Its work stays, and it can be gone on with."""
    from ralph.app import paths as places
    from ralph.app.runs import status
    from ralph.faces.board_words import format_cancelled_run
    from ralph.faces.cli.pages.runs import render_runs_json

    ended = status.cancel_run(places.find_paths(os.getcwd()), run)
    click.echo(render_runs_json([ended]) if as_json else format_cancelled_run(ended))
