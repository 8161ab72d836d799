"""`ralph config`: what is set, by whom, and what can be set."""

import os
from collections.abc import Mapping

import click


@click.group()
def command() -> None:
    """Show the settings in force, or the schema they follow."""


@command.command("show")
@click.option("--origin", is_flag=True, help="Name the source of each value.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(origin: bool, as_json: bool) -> int:
    """Show every setting as it is in force here, secrets hidden."""
    from ralph.config.redaction import flattened, shown
    from ralph.config.sources import load
    from ralph.config.writing import pretty

    loaded = load(os.getcwd(), os.environ)
    values = shown(loaded.settings)
    origins = _origins(flattened(values), loaded.origins)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        click.echo(pretty({"settings": values, "origins": origins} if origin else values))
    else:
        click.echo("\n".join(_lines(flattened(values), origins if origin else {})))
    return 0


@command.command("schema")
def schema() -> int:
    """Print the JSON Schema of .ralph/settings.json."""
    from ralph.config.reference import json_schema
    from ralph.config.writing import pretty

    click.echo(pretty(json_schema()))
    return 0


def _origins(values: dict[str, object], known: Mapping[str, str]) -> dict[str, str]:
    from ralph.config.sources import DEFAULT

    return {key: known.get(key, DEFAULT) for key in values}


def _lines(values: dict[str, object], origins: dict[str, str]) -> list[str]:
    import msgspec

    lines = {key: f"{key} = {msgspec.json.encode(value).decode()}" for key, value in values.items()}
    width = max(min(len(line), 60) for line in lines.values())
    return [f"{line:<{width}}  ({origins[key]})" if key in origins else line for key, line in lines.items()]
