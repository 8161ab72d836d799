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
def show_settings_command(origin: bool, as_json: bool) -> int:
    """Show every setting as it is in force here, secrets hidden."""
    from ralph.app.guardrails import find_guardrail_problems
    from ralph.config.redaction import flatten_keys, redact_settings
    from ralph.config.sources import load_settings
    from ralph.config.writing import format_json

    loaded = load_settings(os.getcwd(), os.environ)
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
    from ralph.config.reference import build_json_schema
    from ralph.config.writing import format_json

    click.echo(format_json(build_json_schema()))
    return 0


def _resolve_origins(values: dict[str, object], known: Mapping[str, str]) -> dict[str, str]:
    from ralph.config.sources import DEFAULT_ORIGIN

    return {key: known.get(key, DEFAULT_ORIGIN) for key in values}


def _format_settings(values: dict[str, object], origins: dict[str, str]) -> list[str]:
    import msgspec

    lines = {key: f"{key} = {msgspec.json.encode(value).decode()}" for key, value in values.items()}
    width = max(min(len(line), 60) for line in lines.values())
    return [f"{line:<{width}}  ({origins[key]})" if key in origins else line for key, line in lines.items()]
