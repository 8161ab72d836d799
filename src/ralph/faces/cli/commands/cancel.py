"""`ralph cancel`: end a run from another terminal, its work kept."""

import os

import click

from ralph.app.paths import find_project_paths
from ralph.app.runs.status import cancel_run
from ralph.faces.board_words import format_cancelled_run
from ralph.faces.cli.options.looks import add_json_option
from ralph.faces.cli.options.run_names import complete_active_run
from ralph.faces.cli.pages.runs import render_runs_json


@click.command()
@click.argument("run", default="", shell_complete=complete_active_run)
@add_json_option("Print the run's record as JSON.")
def command(run: str, as_json: bool) -> None:
    """Cancel the active run RUN (or the only one) within two seconds.

    Work is kept; resume with `ralph run --resume`."""
    record = cancel_run(find_project_paths(os.getcwd()), run)
    click.echo(render_runs_json([record]) if as_json else format_cancelled_run(record))
