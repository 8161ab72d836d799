"""`ralph status`: what runs here, and how the last runs ended."""

import click

from ralph.faces.cli.options.amounts import CountParam
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.pages.runs import render_status, render_status_everywhere


@click.command()
@add_json_option("Print records as JSON.")
@click.option("-n", "--last", default=5, show_default=True, type=CountParam(), help="How many runs to show.")
@click.option("-a", "--all", "everywhere", is_flag=True, help="Every repository ralph ran in on this machine.")
def command(as_json: bool, last: int, everywhere: bool) -> None:
    """Show what runs in this repository: prompt, iteration, elapsed time, cost, and how the last runs ended."""
    click.echo(render_status_everywhere(as_json, last) if everywhere else render_status(as_json, last))
