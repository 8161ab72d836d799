"""`ralph accept`: a person's word that a run was right to change a test."""

import os

import click

from ralph.app.paths import find_project_paths
from ralph.app.runs.inside_agent import refuse_inside_agent
from ralph.app.runs.proofs.proof_changes import accept_proofs
from ralph.faces.cli.options.run_names import complete_any_run


@click.command()
@click.argument("run", shell_complete=complete_any_run)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
def command(run: str, files: tuple[str, ...]) -> None:
    """Accept that RUN changed FILE, a test or another file its checks rest on.

    `ralph diff --proofs RUN` shows such files. A run that was refused for them can then be resumed."""
    refuse_inside_agent(os.environ, "ralph accept")
    done = accept_proofs(find_project_paths(os.getcwd()), run, files, os.environ)
    for path in done.paths:
        click.echo(f"Accepted {path} as run {done.run} left it")
    if done.outcome not in ("", "completed") and done.kind == "run":
        click.echo(f"Resume with: ralph run --resume {done.run}")
    elif done.outcome not in ("", "completed") and done.task:
        click.echo(f"Resume with: ralph execute {done.task}")
