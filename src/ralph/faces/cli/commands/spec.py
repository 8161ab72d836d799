"""`ralph spec`: what tasks are there for; the text every prompt of theirs begins with."""

import os
import sys

import click
import msgspec

from ralph.app.board.specs import create_spec, edit_spec, list_specs, load_spec
from ralph.app.paths import find_project_paths
from ralph.app.runs.inside_agent import refuse_inside_agent
from ralph.core.text.plain import sanitize
from ralph.core.text.quantities import pluralize
from ralph.faces.cli.options.known_names import complete_spec
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.options.text_file import TextFile, TextFileParam
from ralph.faces.cli.pages.task_list import fit_to_terminal
from ralph.faces.cli.terminal.columns import align_columns
from ralph.model.board import Spec
from ralph.model.errors import UsageError

_file_option = click.option("--file", type=TextFileParam(), metavar="SPEC.md", help="Its text; `-` for standard input.")
_title_option = click.option("--title", metavar="TEXT", help="Its title.  [default: its first heading, or NAME]")


@click.group("spec", short_help="Create, change and list specs.")
def command() -> None:
    """A spec says what its tasks are for; its text goes into their prompts as "Specification"."""


@command.command("create")
@click.argument("name")
@_file_option
@_title_option
@add_json_option()
def create_spec_command(name: str, file: TextFile | None, title: str | None, as_json: bool) -> None:
    """Create the spec NAME."""
    spec = create_spec(find_project_paths(os.getcwd()), name, title or "", file.read_text() if file else "")
    click.echo(_encode_spec(spec) if as_json else f"Created spec {name}")


@command.command("list")
@add_json_option()
def list_specs_command(as_json: bool) -> None:
    """Show all specs, with the number of their tasks."""
    found = list_specs(find_project_paths(os.getcwd()))
    if as_json:
        records = [{"id": spec.id, "title": spec.title, "tasks": count} for spec, count in found]
        click.echo(msgspec.json.encode({"specs": records}))
        return
    for line in align_columns([(spec.id, f"{pluralize(count, 'task')}  {spec.title}") for spec, count in found]):
        click.echo(fit_to_terminal(line))
    if not found:
        click.echo("No specs here yet. Create one with `ralph spec create NAME --file SPEC.md`.")


@command.command("show")
@click.argument("name", shell_complete=complete_spec)
@add_json_option()
def show_spec_command(name: str, as_json: bool) -> None:
    """Print the spec NAME."""
    spec = load_spec(find_project_paths(os.getcwd()), name)
    click.echo(_encode_spec(spec) if as_json else sanitize(spec.text.rstrip() or f"{spec.title}\n(no text yet)"))


@command.command("edit")
@click.argument("name", shell_complete=complete_spec)
@_file_option
@click.option("--title", metavar="TEXT", help="Its title.")
@add_json_option()
def edit_spec_command(name: str, file: TextFile | None, title: str | None, as_json: bool) -> None:
    """Change the spec NAME. Its title or its text, in $EDITOR or from a file."""
    refuse_inside_agent(os.environ, "ralph spec edit")
    paths = find_project_paths(os.getcwd())
    text = file.read_text() if file else None if title is not None else _edit_text(load_spec(paths, name).text)
    spec = edit_spec(paths, name, title, text)
    click.echo(_encode_spec(spec) if as_json else f"Changed spec {name}")


def _edit_text(text: str) -> str:
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal for an editor here", "give the text with --file SPEC.md, or `-`")
    edited = click.edit(text, extension=".md", require_save=False)
    return text if edited is None else edited


def _encode_spec(spec: Spec) -> bytes:
    return msgspec.json.encode(spec)
