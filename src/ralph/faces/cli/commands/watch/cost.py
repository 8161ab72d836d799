"""`ralph cost`: what the agents cost."""

import os
import sys
from datetime import datetime

import click
import msgspec

from ralph.app.paths import find_project_paths
from ralph.app.runs.spending import (
    GROUPINGS,
    Grouping,
    group_expenses,
    list_all_expenses,
    list_expenses,
    parse_since,
    sum_expenses,
)
from ralph.app.runs.status import explain_lost_records
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.pages.cost import render_cost
from ralph.faces.cli.terminal.look import resolve_style


@click.command()
@click.option("--since", default="all", show_default=True, help="today, yesterday, 7d, 24h, 2w, a date, or all.")
@click.option("--by", type=click.Choice(GROUPINGS), default="day", show_default=True, help="What to add up by.")
@click.option("--all", "everywhere", is_flag=True, help="Every repository on this machine.")
@add_json_option("Print the sums as JSON.")
def command(since: str, by: Grouping, everywhere: bool, as_json: bool) -> None:
    """Show what agents, judges and commit messages cost.

    \b
    Examples:
      ralph cost --since today
      ralph cost --by task --since 7d
      ralph cost --all --by repository
    """
    paths, begin = find_project_paths(os.getcwd()), parse_since(since, datetime.now().astimezone())
    expenses = list_all_expenses(os.environ, paths, begin) if everywhere else list_expenses(paths, begin)
    if not (expenses or everywhere or as_json) and (lost := explain_lost_records(paths)):
        raise lost
    groups, total = group_expenses(expenses, by), sum_expenses(expenses)
    if as_json:
        click.echo(msgspec.json.encode({"by": by, "groups": groups, "total": total}))
        return
    where = "on this machine" if everywhere else "here"
    period = f"{where} yet" if since == "all" else f"{where} since {since}"
    style = resolve_style(sys.stdout, os.environ)
    click.echo(render_cost(groups, total, period, style), color=style.color)
