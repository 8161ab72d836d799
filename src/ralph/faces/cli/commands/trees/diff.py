"""`ralph diff`: what a run changed."""

import os
import sys

import click

from ralph.app.paths import find_project_paths
from ralph.app.runs.kept_files import diff_run
from ralph.app.runs.proof_changes import ProofDiff, diff_proofs
from ralph.core.proofs.wording import describe_proof_change
from ralph.core.text.plain import sanitize
from ralph.faces.cli.options.run_names import complete_any_run


@click.command()
@click.argument("run", default="", shell_complete=complete_any_run)
@click.option("--iteration", type=click.IntRange(min=1), help="Only what this iteration changed.")
@click.option("--proofs", "only_proofs", is_flag=True, help="Only tests and other files that the checks rest on.")
def command(run: str, iteration: int | None, only_proofs: bool) -> None:
    """Show what RUN (or the last run) changed, committed or not, as a diff."""
    paths = find_project_paths(os.getcwd())
    if only_proofs and iteration is not None:
        raise click.UsageError("--proofs compares with the start of the run: leave out --iteration")
    text = (
        _render_proofs(diff_proofs(paths, run, os.environ))
        if only_proofs
        else diff_run(paths, run, iteration, os.environ)
    )
    click.echo(sanitize(text) if sys.stdout.isatty() else text, nl=False)


def _render_proofs(found: ProofDiff) -> str:
    """A line for each file, as a comment of the diff below them."""
    if not found.changes:
        return f"# run {found.run} changed nothing its checks rest on\n"
    lines = [
        f"# {change.path}: {describe_proof_change(change)}{_mark(change.path, found)}\n" for change in found.changes
    ]
    return "".join(lines) + found.diff


def _mark(path: str, found: ProofDiff) -> str:
    return ", accepted" if path in found.accepted else ""
