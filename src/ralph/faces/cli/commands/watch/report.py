"""`ralph report`: what runs came to, for who was not there."""

import os
import sys
from datetime import datetime

import click

from ralph.app.paths import find_project_paths
from ralph.app.reports.report import Report, build_report, build_report_since
from ralph.app.runs.spending import parse_since
from ralph.core.text.write_error import explain_write_error
from ralph.faces.cli.options.output_flags import add_json_option, add_look_options
from ralph.faces.cli.options.run_names import complete_any_run
from ralph.faces.cli.pages.report import ReportPage
from ralph.faces.cli.terminal.look import ColorChoice, resolve_style
from ralph.faces.glyphs import GlyphChoice
from ralph.faces.views.encoding import encode_json

DEFAULT_PERIOD = "24h"


@click.command()
@click.argument("run", default="", shell_complete=complete_any_run)
@click.option("--short", is_flag=True, help="What was done, verified how, at what cost, and what waits for you.")
@click.option("--since", help="All runs since: today, yesterday, 7d, 24h, a date. --short alone: 24h.")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request.")
@click.option("--html", "page", metavar="FILE", help="Write a self-contained page with plots; - is standard output.")
@add_look_options
@add_json_option("Print it as one JSON object.")
def command(
    run: str,
    short: bool,
    since: str | None,
    markdown: bool,
    page: str | None,
    color: ColorChoice | None,
    glyphs: GlyphChoice | None,
    as_json: bool,
) -> None:
    """Report on RUN, on the last command, or on a period: iterations, cost, tokens, failed checks, reviews, timeline.

    A run of `ralph execute` stands for all tasks of that command.

    \b
    Examples:
      ralph report --short                 what happened in the last 24 hours
      ralph report --html report.html      the last command, as a page
      ralph report 20261117-08 --markdown  one run, for a pull request
      ralph report --since 7d --html week.html
    """
    if run and since:
        raise click.UsageError("give a RUN or --since, not both")
    if sum((markdown, as_json, page is not None)) > 1:
        raise click.UsageError("choose one of --markdown, --html and --json")
    report = _build(run, since or (DEFAULT_PERIOD if short and not run else None))
    if as_json:
        click.echo(encode_json(report))
    elif page is not None:
        _write_page(report, page)
    elif markdown:
        from ralph.faces.reports.markdown import render_report_markdown

        click.echo(render_report_markdown(report), nl=False)
    else:
        style = resolve_style(sys.stdout, os.environ, glyphs=glyphs or "auto", color=color or "auto")
        lines = ReportPage(style)
        click.echo(lines.render_short(report) if short else lines.render_whole(report), color=style.color)


def _build(run: str, since: str | None) -> Report:
    paths = find_project_paths(os.getcwd())
    if since is None:
        return build_report(paths, run, os.environ)
    return build_report_since(paths, parse_since(since, datetime.now().astimezone()), os.environ)


def _write_page(report: Report, path: str) -> None:
    from ralph.faces.reports.html import render_report_html

    text = render_report_html(report)
    if path == "-":
        click.echo(text, nl=False)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise explain_write_error(path, error) from error
    click.echo(f"Wrote {path}")
