"""`ralph cancel`: end a run from another terminal, its work kept."""

import os

import click
import msgspec

from ralph.app.control.stopping import is_whole_execute, refuse_ending_others, stop_execute, stop_gently
from ralph.app.paths import Paths, find_project_paths
from ralph.app.runs.status import cancel_run
from ralph.app.stores import has_stores
from ralph.faces.board_words import format_cancelled_run
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.options.run_names import complete_active_run
from ralph.faces.cli.pages.runs import render_runs_json
from ralph.faces.control_words import describe_gentle_stop, target_to_dict


@click.command()
@click.argument("run", default="", shell_complete=complete_active_run)
@click.option("--gently", is_flag=True, help="Let the current step finish, then stop.")
@click.option("--finish-tasks", is_flag=True, help="`ralph execute`: finish running tasks, start no others.")
@add_json_option("Print the run's record as JSON.")
def command(run: str, gently: bool, finish_tasks: bool, as_json: bool) -> None:
    """Cancel the active run RUN (or the only one) within two seconds.

    Work is kept; resume with `ralph resume`. Without RUN, all tasks of a running `ralph execute` are
    stopped."""
    paths = find_project_paths(os.getcwd())
    if has_stores(paths):
        refuse_ending_others(paths, run, os.environ, "ralph cancel")
        if finish_tasks or (not gently and is_whole_execute(paths, run)):
            return _stop_execute(paths, finish_tasks, as_json)
        if gently:
            target = stop_gently(paths, run)
            click.echo(
                msgspec.json.encode({"stopping": target_to_dict(target)}) if as_json else describe_gentle_stop(target)
            )
            return None
    record = cancel_run(paths, run)
    click.echo(render_runs_json([record]) if as_json else format_cancelled_run(record))
    return None


def _stop_execute(paths: Paths, finish_tasks: bool, as_json: bool) -> None:
    stop_execute(paths, "tasks" if finish_tasks else "now")
    what = "Running tasks finish; no others start." if finish_tasks else "`ralph execute` ends; work is kept."
    click.echo(msgspec.json.encode({"stopping": {"kind": "execute"}}) if as_json else what)
