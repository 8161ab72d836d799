"""`ralph diff`: what a run changed."""

import os
import sys

import click

from ralph.app.paths import find_project_paths
from ralph.app.runs.kept_files import diff_run
from ralph.core.text.plain import sanitize
from ralph.faces.cli.options.run_names import complete_any_run


@click.command()
@click.argument("run", default="", shell_complete=complete_any_run)
@click.option("--iteration", type=click.IntRange(min=1), help="Only what this iteration changed.")
def command(run: str, iteration: int | None) -> None:
    """Show what RUN (or the last run) changed, committed or not, as a diff."""
    text = diff_run(find_project_paths(os.getcwd()), run, iteration, os.environ)
    click.echo(sanitize(text) if sys.stdout.isatty() else text, nl=False)
