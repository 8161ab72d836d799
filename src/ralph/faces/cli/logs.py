"""`ralph logs`: what a run said, as it was shown, also while it goes on."""

import os
import sys
import time

import click


@click.command()
@click.argument("run", default="")
@click.option("-f", "--follow", is_flag=True, help="Go on showing what comes, until the run has ended.")
@click.option("--json", "as_json", is_flag=True, help="Print events as lines of JSON.")
@click.option("--path", "path_only", is_flag=True, help="Print only the folder with the raw output of the agents.")
@click.option("-V", "--verbose", is_flag=True, help="Show everything, on stderr.")
def command(run: str, follow: bool, as_json: bool, path_only: bool, verbose: bool) -> None:
    """Show what RUN (or the last run) said and did."""
    from ralph.app import chronicles, places, status
    from ralph.config.sources import load
    from ralph.faces.cli.console import display
    from ralph.faces.cli.moments import replay
    from ralph.faces.cli.writer import Output

    here = places.find(os.getcwd())
    if path_only:
        click.echo(here.records(status.find(here, run).id))
        return
    blocks = chronicles.following(here, run) if follow else chronicles.told(here, run)
    if as_json:
        out = Output.on(sys.stdout)
        for block in blocks:
            out.send(block)
        return
    watcher = display(load(here.folder, os.environ).settings, as_json=False, verbose=verbose)
    try:
        for block in blocks:
            replay(block, watcher)
            watcher.tick(time.time())
    finally:
        watcher.close()
