"""`ralph logs`: what a run said, as it was shown, also while it goes on."""

import os
import sys
import time

import click

from ralph.faces.cli.options.run_names import complete_any_run


@click.command()
@click.argument("run", default="", shell_complete=complete_any_run)
@click.option("-f", "--follow", is_flag=True, help="Go on showing what comes, until the run has ended.")
@click.option("--json", "as_json", is_flag=True, help="Print events as lines of JSON.")
@click.option("--path", "path_only", is_flag=True, help="Print only the folder with the raw output of the agents.")
@click.option("-V", "--verbose", is_flag=True, help="Show everything, on stderr.")
def command(run: str, follow: bool, as_json: bool, path_only: bool, verbose: bool) -> None:
    """Show what RUN (or the last run) said and did."""
    from ralph.app import paths as places
    from ralph.app.runs import logs as chronicles
    from ralph.app.runs import status
    from ralph.config.sources import load_settings
    from ralph.faces.cli.live.json_lines import replay_events
    from ralph.faces.cli.live.watching import build_display
    from ralph.faces.cli.terminal.output import Output
    from ralph.model.errors import MachineError

    here = places.find_paths(os.getcwd())
    if path_only:
        click.echo(here.run_dir(status.find_run(here, run).id))
        return
    blocks = chronicles.follow_log(here, run) if follow else chronicles.read_log(here, run)
    out = Output.for_stream(sys.stdout)
    if as_json:
        for block in blocks:
            out.write_bytes(block)
    else:
        watcher = build_display(
            load_settings(here.folder, os.environ).settings, as_json=False, verbose=verbose, out=out
        )
        try:
            for block in blocks:
                replay_events(block, watcher)
                watcher.tick(time.time())
        finally:
            watcher.close()
    if out.write_error:  # of a run that goes on it does not matter; here it is all there is
        raise MachineError(f"cannot print: {out.write_error}", "free some space, then try again")
