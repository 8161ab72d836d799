"""`ralph logs`: what a run said, as it was shown, also while it goes on."""

import os
import sys
import time
from collections.abc import Sequence

import click
from msgspec.structs import replace

from ralph.app.paths import find_project_paths
from ralph.app.runs.logs import follow_log, read_log
from ralph.app.runs.status import find_run
from ralph.config.sources import load_settings
from ralph.faces.check_words import shorten_path
from ralph.faces.cli.live.json_lines import replay_events
from ralph.faces.cli.live.watching import build_display
from ralph.faces.cli.options.output_flags import EVENTS_JSON_HELP, add_json_option, add_plain_option, add_verbose_option
from ralph.faces.cli.options.run_names import complete_any_run
from ralph.faces.cli.terminal.output import Output
from ralph.model.errors import MachineError
from ralph.model.events import Event, GateEnded


@click.command()
@click.argument("run", default="", shell_complete=complete_any_run)
@click.option("-f", "--follow", is_flag=True, help="Follow the output until the run ends.")
@add_json_option(EVENTS_JSON_HELP)
@add_plain_option
@click.option("--path", "path_only", is_flag=True, help="Print only the folder with the raw output.")
@add_verbose_option("Show everything, on stderr.")
def command(run: str, follow: bool, as_json: bool, path_only: bool, plain: bool | None, verbose: bool) -> None:
    """Show what RUN (or the last run) said and did."""
    paths = find_project_paths(os.getcwd())
    run = find_run(paths, run).id
    run_dir, here = paths.run_dir(run), paths.started_in
    if path_only:
        click.echo(run_dir)
        return
    blocks = follow_log(paths, run) if follow else read_log(paths, run)
    out = Output.for_stream(sys.stdout)
    if as_json:
        for block in blocks:
            out.write_bytes(block)
    else:
        given = {"display.plain": plain}
        settings = load_settings(paths.folder, os.environ, given, seen_from=paths.started_in).settings
        watcher = build_display(settings, as_json=False, verbose=verbose, out=out)
        try:
            for block in blocks:
                replay_events(
                    block, lambda at, number, events: watcher(at, number, _point_to_kept_logs(events, run_dir, here))
                )
                watcher.tick(time.time())
        finally:
            watcher.close()
    if out.write_error:  # of a run that goes on it does not matter; here it is all there is
        raise MachineError(f"cannot print: {out.write_error}", "free some space, then try again")


def _point_to_kept_logs(events: Sequence[Event], run_dir: str, here: str) -> list[Event]:
    """The files of `.ralph/` are those of the last run; this one keeps its own."""
    return [_point_to_kept_log(event, run_dir, here) if isinstance(event, GateEnded) else event for event in events]


def _point_to_kept_log(event: GateEnded, run_dir: str, here: str) -> GateEnded:
    kept = os.path.join(run_dir, event.run_log)
    return replace(event, log=shorten_path(kept, here)) if event.run_log and os.path.exists(kept) else event
