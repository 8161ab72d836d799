"""`ralph demo`: the whole loop on a scratch repository, with a scripted agent and no key."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from ralph.app.setup.demo import isolate_variables, prepare_demo
from ralph.faces.cli.commands.run import command as run_command
from ralph.faces.cli.options.text_file import TextFile


@click.command()
@click.option("--keep", is_flag=True, help="Keep the scratch repository and say where it is.")
@click.pass_context
def command(context: click.Context, /, keep: bool) -> int:
    """Watch the loop work: a failing test, a promise made too early and caught, a fix, a commit."""
    folder = tempfile.mkdtemp(prefix="ralph-demo-")
    try:
        with _run_inside(folder, isolate_variables(os.environ)):
            prepare_demo(folder, os.environ)
            click.echo(f"Scratch repository with a failing test: {folder}")
            click.echo("The scripted agent claims to be done too early. Watch the guardrail catch it.\n")
            code: int = context.invoke(run_command, prompt_file=TextFile("PROMPT.md"))
        if keep:
            click.echo(f"\nKept: {folder}")
        else:
            click.echo("\nTry it on your own repository: ralph init, then ralph run -p PROMPT")
        return code
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _run_inside(folder: str, variables: Mapping[str, str]) -> Iterator[None]:
    """Runs the block in `folder` with exactly `variables` as environment, then restores both."""
    old_folder, old_variables = os.getcwd(), dict(os.environ)
    os.chdir(folder)
    _replace_environment(variables)
    try:
        yield
    finally:
        _replace_environment(old_variables)
        os.chdir(old_folder)


def _replace_environment(variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)
