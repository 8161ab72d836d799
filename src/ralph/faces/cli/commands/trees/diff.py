"""`ralph diff`: what a run changed."""

import os
import re
import sys

import click

from ralph.app.paths import find_project_paths
from ralph.app.runs.kept_files import diff_run
from ralph.app.runs.proofs.proof_changes import ProofDiff, diff_proofs
from ralph.core.proofs.wording import describe_proof_change
from ralph.core.text.plain import sanitize
from ralph.faces.cli.options.run_names import complete_any_run

_ITERATIONS = re.compile(r"(\d{1,4})(?:\.\.(\d{1,4}))?")


@click.command()
@click.argument("run", default="", shell_complete=complete_any_run)
@click.argument("iterations", default="", metavar="[N|N..M]")
@click.option("--iteration", type=click.IntRange(min=1), help="The same as N.")
@click.option("--proofs", "only_proofs", is_flag=True, help="Only tests and other files that the checks rest on.")
def command(run: str, iterations: str, iteration: int | None, only_proofs: bool) -> None:
    """Show what RUN (or the last run) changed, committed or not, as a diff.

    N: only what iteration N changed. N..M: from the state after iteration N to the state after M; 0 is the start."""
    paths = find_project_paths(os.getcwd())
    if not iterations and _ITERATIONS.fullmatch(run):
        run, iterations = "", run
    between = _parse_iterations(iterations or str(iteration or ""))
    if only_proofs and between is not None:
        raise click.UsageError("--proofs compares with the start of the run: leave out the iterations")
    text = (
        _render_proofs(diff_proofs(paths, run, os.environ))
        if only_proofs
        else diff_run(paths, run, between, os.environ)
    )
    click.echo(sanitize(text) if sys.stdout.isatty() else text, nl=False)


def _parse_iterations(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    if not (found := _ITERATIONS.fullmatch(text)):
        raise click.UsageError(f"{text!r} is not an iteration: give N or N..M")
    older, newer = int(found[1]), int(found[2] or found[1])
    if newer < older or not newer:
        raise click.UsageError(f"{text!r} is not a range of iterations: give N or N..M, N before M")
    return (older, newer) if found[2] else (older - 1, newer)


def _render_proofs(found: ProofDiff) -> str:
    """A line for each file, as a comment of the diff below them."""
    if not found.changes:
        return f"# run {found.run} changed nothing its checks rest on\n"
    lines = [
        f"# {change.path}: {describe_proof_change(change)}{_mark_accepted(change.path, found)}\n"
        for change in found.changes
    ]
    return "".join(lines) + found.diff


def _mark_accepted(path: str, found: ProofDiff) -> str:
    return ", accepted" if path in found.accepted else ""
