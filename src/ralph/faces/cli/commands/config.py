"""`ralph config`: what is set, by whom, what can be set; and how to set it."""

import os
from collections.abc import Mapping

import click
import msgspec
from click.shell_completion import CompletionItem

from ralph.app.guardrails import find_guardrail_problems
from ralph.app.paths import find_project_paths
from ralph.app.runs.inside_agent import refuse_inside_agent
from ralph.app.setup.settings_change import (
    EffectiveValue,
    SettingChange,
    SettingsEditor,
    SettingsScope,
    look_up_setting,
)
from ralph.config.keys import SettingKey, list_setting_keys, parse_setting_key
from ralph.config.redaction import flatten_keys, redact_mapping, redact_settings
from ralph.config.reference import build_json_schema
from ralph.config.sources import DEFAULT_ORIGIN, load_settings
from ralph.config.writing import format_json
from ralph.core.text.utf8 import refuse_undecoded
from ralph.faces.cli.options.output_flags import CommandT, add_json_option
from ralph.faces.cli.terminal.columns import align_columns
from ralph.model.errors import ConfigError, UsageError

MAX_SETTING_CELLS = 60  # a longer value pushes its origin to the right, and no other


@click.group()
def command() -> None:
    """Show or change the settings."""


@command.command("show")
@click.option("--origin", is_flag=True, help="Name the source of each value.")
@add_json_option()
def show_settings_command(origin: bool, as_json: bool) -> int:
    """Show the effective settings, secrets hidden."""
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


command.add_command(show_settings_command, "list")  # as git calls it


def _complete_key(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(key) for key in list_setting_keys() if key.startswith(incomplete)]


_KEY_ARGUMENT = click.argument("key", shell_complete=_complete_key)


def _add_file_options(function: CommandT) -> CommandT:
    function = click.option("--local", is_flag=True, help="In .ralph/settings.local.json: yours, for this project.")(
        function
    )
    return click.option("--user", is_flag=True, help="In ~/.config/ralph/settings.json: yours, for all projects.")(
        function
    )


@command.command("get")
@_KEY_ARGUMENT
@click.option("--origin", is_flag=True, help="Name the source of the value.")
@add_json_option()
def get_setting_command(key: str, origin: bool, as_json: bool) -> int:
    """Print the effective value of KEY. Text as is, everything else as JSON, secrets hidden."""
    wanted = parse_setting_key(key)
    found = look_up_setting(wanted, find_project_paths(os.getcwd()), os.environ)
    if found.problem:
        raise ConfigError(found.problem)
    value = _redact_value(wanted, found.value)
    if as_json:
        click.echo(format_json({"value": value, "origin": found.origin} if origin else value))
        return 0
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    click.echo(f"{text}  ({found.origin})" if origin else text)
    return 0


@command.command("set", context_settings={"ignore_unknown_options": True})
@_KEY_ARGUMENT
@click.argument("value", nargs=-1, required=True)
@_add_file_options
def set_setting_command(key: str, value: tuple[str, ...], user: bool, local: bool) -> int:
    """Set KEY to VALUE in .ralph/settings.json. The rest of the file stays as it is.

    VALUE is JSON where the key takes that, else text. Several are the items of a list.

    \b
    ralph config set maximumIterations 20
    ralph config set guardrails "make lint" "make test"
    ralph config set agents.codex.model gpt-5 --user
    """
    refuse_inside_agent(os.environ, "ralph config set")
    for each in value:
        refuse_undecoded(each, "the value")
    return _report_change(_open_editor(user=user, local=local).set_value(key, value))


@command.command("unset")
@_KEY_ARGUMENT
@_add_file_options
def unset_setting_command(key: str, user: bool, local: bool) -> int:
    """Remove KEY from .ralph/settings.json. A weaker source or the default applies then."""
    refuse_inside_agent(os.environ, "ralph config unset")
    return _report_change(_open_editor(user=user, local=local).remove_value(key))


@command.command("schema")
def show_schema_command() -> int:
    """Print the JSON Schema of .ralph/settings.json."""
    click.echo(format_json(build_json_schema()))
    return 0


def _open_editor(*, user: bool, local: bool) -> SettingsEditor:
    if user and local:
        raise UsageError("--user and --local name two files", "give one of them")
    scope: SettingsScope = "user" if user else "local" if local else "project"
    return SettingsEditor(scope, find_project_paths(os.getcwd()), os.environ)


def _report_change(change: SettingChange) -> int:
    """The file, the new value, the one before; and whether it counts at all."""
    for note in change.notes:
        click.echo(note)
    key, after = change.key, change.after
    was = "" if change.before.problem else f" (was {_format_effective(key, change.before, change.file)})"
    if change.is_removed:
        now = "" if after.problem else f"; now {_format_effective(key, after, change.file)}"
        click.echo(f"{change.file}: {key.name} removed{was}{now}")
        return 0
    click.echo(f"{change.file}: {key.name} = {_format_value(key, change.value)}{was}")
    if after.problem:
        click.echo(f"warning: {after.problem}", err=True)
    elif change.overridden_by:
        words = f"{change.overridden_by} overrides it: {key.name} stays {_format_value(key, after.value)}"
        click.echo(f"warning: {words}", err=True)
    return 0


def _format_effective(key: SettingKey, found: EffectiveValue, file: str) -> str:
    if found.origin == DEFAULT_ORIGIN and (found.value is None or isinstance(found.value, dict)):
        return "not set"
    origin = "" if found.origin == file else f", {found.origin}"
    return f"{_format_value(key, found.value)}{origin}"


def _format_value(key: SettingKey, value: object) -> str:
    return msgspec.json.encode(_redact_value(key, value)).decode()


def _redact_value(key: SettingKey, value: object) -> object:
    """Hidden by its name too: the name is not in the value."""
    nested: dict[str, object] = {key.path[-1]: value}
    for part in reversed(key.path[:-1]):
        nested = {part: nested}
    shown: object = redact_mapping(nested)
    for part in key.path:
        assert isinstance(shown, dict)
        shown = shown[part]
    return shown


def _resolve_origins(values: dict[str, object], known: Mapping[str, str]) -> dict[str, str]:
    return {key: known.get(key, DEFAULT_ORIGIN) for key in values}


def _format_settings(values: dict[str, object], origins: dict[str, str]) -> list[str]:
    rows = [
        (f"{key} = {msgspec.json.encode(value).decode()}", f"({origins[key]})" if key in origins else "")
        for key, value in values.items()
    ]
    return align_columns(rows, widest=MAX_SETTING_CELLS)
