"""`ralph spec`: what tasks are there for; the text every prompt of theirs begins with."""

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ralph.model.board import Spec

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_file_option = click.option("--file", metavar="SPEC.md", help="Its text; `-` for standard input.")
_title_option = click.option("--title", metavar="TEXT", help="What to call it.  [default: its first heading, or NAME]")


@click.group("spec", short_help="Make, change and look at specs.")
def command() -> None:
    """A spec is what tasks are there for; its text is the "Specification" of their prompts."""


@command.command("create")
@click.argument("name")
@_file_option
@_title_option
@_json_option
def create_spec_command(name: str, file: str | None, title: str | None, as_json: bool) -> None:
    """Make the spec NAME."""
    from ralph.app import paths as places
    from ralph.app.board import specs

    made = specs.create_spec(places.find_paths(os.getcwd()), name, title or "", _read_file(file) if file else "")
    click.echo(_encode_spec(made) if as_json else f"Created spec {name}")


@command.command("list")
@_json_option
def list_specs_command(as_json: bool) -> None:
    """Show all specs, with the number of their tasks."""
    import msgspec

    from ralph.app import paths as places
    from ralph.app.board import specs
    from ralph.core.text.quantities import pluralize
    from ralph.faces.cli.pages.task_list import fit_to_terminal

    found = specs.list_specs(places.find_paths(os.getcwd()))
    if as_json:
        records = [{"id": spec.id, "title": spec.title, "tasks": count} for spec, count in found]
        click.echo(msgspec.json.encode({"specs": records}))
        return
    width = max((len(spec.id) for spec, _ in found), default=0)
    for spec, count in found:
        click.echo(fit_to_terminal(f"{spec.id:<{width}}  {pluralize(count, 'task')}  {spec.title}"))
    if not found:
        click.echo("No specs here yet. Make one with `ralph spec create NAME --file SPEC.md`.")


@command.command("show")
@click.argument("name")
@_json_option
def show_spec_command(name: str, as_json: bool) -> None:
    """Print the spec NAME."""
    from ralph.app import paths as places
    from ralph.app.board import specs
    from ralph.core.text.plain import sanitize

    spec = specs.load_spec(places.find_paths(os.getcwd()), name)
    click.echo(_encode_spec(spec) if as_json else sanitize(spec.text.rstrip() or f"{spec.title}\n(no text yet)"))


@command.command("edit")
@click.argument("name")
@_file_option
@click.option("--title", metavar="TEXT", help="What to call it.")
@_json_option
def edit_spec_command(name: str, file: str | None, title: str | None, as_json: bool) -> None:
    """Change the spec NAME: its title, its text from a file, or its text in $EDITOR."""
    from ralph.app import paths as places
    from ralph.app.board import specs

    here = places.find_paths(os.getcwd())
    text = _read_file(file) if file else None if title is not None else _edit_text(specs.load_spec(here, name).text)
    changed = specs.edit_spec(here, name, title, text)
    click.echo(_encode_spec(changed) if as_json else f"Changed spec {name}")


def _edit_text(text: str) -> str:
    from ralph.model.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError("there is no terminal for an editor here", "give the text with --file SPEC.md, or `-`")
    edited = click.edit(text, extension=".md", require_save=False)
    return text if edited is None else edited


def _read_file(file: str) -> str:
    from ralph.model.errors import UsageError

    try:
        if file == "-":
            return sys.stdin.buffer.read().decode("utf-8", "replace")
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except OSError as error:
        raise UsageError(f"cannot read {file!r}: {error.strerror}", "name a text file, or `-`") from None


def _encode_spec(spec: "Spec") -> bytes:
    import msgspec

    return msgspec.json.encode(spec)
