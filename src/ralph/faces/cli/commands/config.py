"""`ralph config`: what is set, by whom, and what can be set."""

import os
from collections.abc import Mapping

import click
import msgspec

from ralph.app.guardrails import find_guardrail_problems
from ralph.app.paths import find_project_paths
from ralph.config.redaction import flatten_keys, redact_settings
from ralph.config.reference import build_json_schema
from ralph.config.sources import DEFAULT_ORIGIN, load_settings
from ralph.config.writing import format_json
from ralph.faces.cli.options.looks import add_json_option
from ralph.faces.cli.terminal.columns import align_columns

MAX_SETTING_CELLS = 60  # a longer value pushes its origin to the right, and no other


@click.group()
def command() -> None:
    """Show the settings in force, or the schema they follow."""


@command.command("show")
@click.option("--origin", is_flag=True, help="Name the source of each value.")
@add_json_option()
def show_settings_command(origin: bool, as_json: bool) -> int:
    """Show every setting as it is in force here, secrets hidden."""
    paths = find_project_paths(os.getcwd())
    loaded = load_settings(paths.folder, os.environ, seen_from=paths.started_in)
    values = redact_settings(loaded.settings)
    origins = _resolve_origins(flatten_keys(values), loaded.origins)
    for warning in (*loaded.warnings, *find_guardrail_problems(loaded.settings.guardrails)):
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        click.echo(format_json({"settings": values, "origins": origins} if origin else values))
    else:
        click.echo("\n".join(_format_settings(flatten_keys(values), origins if origin else {})))
    return 0


@command.command("schema")
def show_schema_command() -> int:
    """Print the JSON Schema of .ralph/settings.json."""
    click.echo(format_json(build_json_schema()))
    return 0


def _resolve_origins(values: dict[str, object], known: Mapping[str, str]) -> dict[str, str]:
    return {key: known.get(key, DEFAULT_ORIGIN) for key in values}


def _format_settings(values: dict[str, object], origins: dict[str, str]) -> list[str]:
    rows = [
        (f"{key} = {msgspec.json.encode(value).decode()}", f"({origins[key]})" if key in origins else "")
        for key, value in values.items()
    ]
    return align_columns(rows, widest=MAX_SETTING_CELLS)
