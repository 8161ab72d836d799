"""`ralph wait`: until runs have ended, with their exit code."""

import os

import click

from ralph.app.control.waiting import find_exit_code, wait_for_runs
from ralph.app.paths import find_project_paths
from ralph.faces.cli.options.durations import DurationParam
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.options.run_names import complete_active_run
from ralph.faces.cli.pages.runs import format_run, render_runs_json

TIMED_OUT_CODE = 124  # as timeout(1) has it


@click.command()
@click.argument("names", metavar="[RUN|TASK]...", nargs=-1, shell_complete=complete_active_run)
@click.option("--timeout", type=DurationParam(), help="Wait no longer than this, e.g. 30m.")
@add_json_option()
def command(names: tuple[str, ...], timeout: float | None, as_json: bool) -> int:
    """Wait until runs have ended; without a name, all active ones.

    Exit code: that of the run; with several, 0 if all completed, else that of the first that did not. 124 after
    --timeout.
    """
    records = wait_for_runs(find_project_paths(os.getcwd()), names, timeout)
    click.echo(
        render_runs_json(records)
        if as_json
        else "\n".join(line for record in records for line in format_run(record, ""))
    )
    if any(record.ended_at is None for record in records):
        return TIMED_OUT_CODE
    return next(filter(None, map(find_exit_code, records)), 0)
