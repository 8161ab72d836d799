"""`ralph restore`: the files of a snapshot put back."""

import os

import click

from ralph.app.paths import find_project_paths
from ralph.app.runs.kept_files import restore_files
from ralph.faces.proof_words import COMMIT_HASH_CHARS


@click.command()
@click.argument("snapshot")
@click.option("--into", default="", metavar="FOLDER", help="Write the files into this new folder instead.")
def command(snapshot: str, into: str) -> None:
    """Restore the files of SNAPSHOT, a hash that `ralph show` lists.

    Files that were changed or deleted since are written again; newer ones are kept. The current files are kept as a
    snapshot first."""
    done = restore_files(find_project_paths(os.getcwd()), snapshot, into, os.environ)
    click.echo(f"Restored {done.commit[:COMMIT_HASH_CHARS]} in {done.folder}")
    if done.before:
        click.echo(f"To undo: ralph restore {done.before[:COMMIT_HASH_CHARS]}")
