"""`ralph demo`: the whole loop on a scratch repository, with a scripted agent and no key."""

import os

import click


@click.command()
@click.option("--keep", is_flag=True, help="Keep the scratch repository and say where it is.")
@click.pass_context
def command(context: click.Context, /, keep: bool) -> int:
    """Watch the loop work: a failing test, a promise made too early and caught, a fix, a commit."""
    import shutil
    import tempfile

    from ralph.app.demonstration import prepare
    from ralph.faces.cli.run import command as run

    before = os.getcwd()
    folder = tempfile.mkdtemp(prefix="ralph-demo-")
    try:
        prepare(folder, os.environ)
        click.echo(f"A scratch repository with a failing test: {folder}")
        click.echo("The agent is scripted: it will promise too early once. Watch the guardrail.\n")
        os.chdir(folder)
        code: int = context.invoke(run, prompt_file="PROMPT.md")
        if keep:
            click.echo(f"\nKept: {folder}")
        else:
            click.echo("\nTry it on your own repository: ralph init, then ralph run -p PROMPT")
        return code
    finally:
        os.chdir(before)
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
