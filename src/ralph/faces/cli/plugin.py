"""`ralph plugin`: the Claude Code plugin that comes with ralph."""

import os

import click
import msgspec

from ralph.app import plugin as use_cases

_as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object.")


@click.group("plugin", short_help="The Claude Code plugin that comes with ralph.")
def command() -> None:
    """Find and install the Claude Code plugin: context alerts, the Stop reminder and the guard of story loops."""


@command.command("path")
@_as_json
def path(as_json: bool) -> None:
    """Print the plugin's folder, for `claude --plugin-dir`."""
    folder = use_cases.plugin_folder()
    click.echo(msgspec.json.encode({"path": folder}) if as_json else folder)


@command.command("install")
@click.option(
    "--user/--project",
    "for_user",
    default=True,
    help="In ~/.claude/settings.json, for all projects, or in this folder's .claude/settings.json. [default: user]",
)
@click.option("--dry-run", is_flag=True, help="Print the settings and write nothing.")
@_as_json
def install(for_user: bool, dry_run: bool, as_json: bool) -> None:
    """Make Claude Code load the plugin in every session. In a project it asks once whether you trust the folder."""
    folder = use_cases.plugin_folder()
    settings = use_cases.user_settings(dict(os.environ)) if for_user else use_cases.project_settings(os.getcwd())
    plan = use_cases.planned(settings, use_cases.marketplace_folder(folder))
    if not dry_run:
        use_cases.install(plan)
    if as_json:
        record = {"settings": plan.settings, "plugin": folder, "changed": plan.is_news and not dry_run}
        click.echo(msgspec.json.encode(record))
    elif dry_run:
        click.echo(f"{plan.settings} would hold:\n{plan.text}", nl=False)
    elif plan.is_news:
        click.echo(
            f"Enabled {use_cases.PLUGIN}@{use_cases.MARKETPLACE} in {plan.settings}.\nNew sessions will load it."
        )
    else:
        click.echo(f"{plan.settings} has it already.")
