"""`ralph stats`: how well agents do."""

import os
import sys
from datetime import datetime

import click
import msgspec

from ralph.app.paths import find_project_paths
from ralph.app.runs.spending import parse_since
from ralph.app.runs.statistics import read_all_statistics, read_statistics
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.pages.statistics import render_statistics
from ralph.faces.cli.terminal.look import resolve_style


@click.command()
@click.option("--since", default="all", show_default=True, help="today, yesterday, 7d, 24h, 2w, a date, or all.")
@click.option("--all", "everywhere", is_flag=True, help="Every repository on this machine.")
@add_json_option("Print the figures as JSON.")
def command(since: str, everywhere: bool, as_json: bool) -> None:
    """Show how well agents do: first-pass rate, iterations and cost of what was done, checks that fail most.

    A run, or a task of `ralph execute`, passed first when no check was red on its way.
    """
    paths, begin = find_project_paths(os.getcwd()), parse_since(since, datetime.now().astimezone())
    found = read_all_statistics(os.environ, paths, begin) if everywhere else read_statistics(paths, begin)
    if as_json:
        click.echo(msgspec.json.encode({"agents": found}))
        return
    style = resolve_style(sys.stdout, os.environ)
    click.echo(render_statistics(found, style), color=style.color)
