"""`ralph plugin`: the Claude Code plugin that comes with ralph."""

import os

import click
import msgspec

from ralph.app.plugin_files import PLUGIN_NAME, find_plugin_folder
from ralph.app.setup.plugin import (
    MARKETPLACE_NAME,
    find_project_folder,
    find_user_folder,
    install_plugin,
    plan_installation,
    plan_removal,
    uninstall_plugin,
)
from ralph.faces.cli.options.output_flags import add_json_option

_JSON_HELP = "One JSON object."
_scope_option = click.option(
    "--user/--project",
    "for_user",
    default=True,
    help="In ~/.claude, for all projects, or in this folder's .claude. [default: user]",
)


@click.group("plugin", short_help="The Claude Code plugin that comes with ralph.")
def command() -> None:
    """Find and install the Claude Code plugin: context alerts, the Stop reminder and the guard of story loops."""


@command.command("path")
@add_json_option(_JSON_HELP)
def show_plugin_path_command(as_json: bool) -> None:
    """Print the plugin's folder, for `claude --plugin-dir`."""
    folder = find_plugin_folder()
    click.echo(msgspec.json.encode({"path": folder}) if as_json else folder)


@command.command("install")
@_scope_option
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@add_json_option(_JSON_HELP)
def install_plugin_command(for_user: bool, dry_run: bool, as_json: bool) -> None:
    """Make Claude Code load the plugin in every session. It then knows /ralph-plan.

    In a project it loads the plugin once you have trusted the folder.
    """
    folder = find_plugin_folder()
    plan = plan_installation(_choose_folder(for_user), folder)
    writes_skill = plan.skill.state in ("missing", "outdated")
    if not dry_run:
        install_plugin(plan)
    if as_json:
        changed = (plan.changes_settings or writes_skill) and not dry_run
        _print_json({"settings": plan.settings, "plugin": folder, "skill": plan.skill.path, "changed": changed})
        return
    if dry_run:
        click.echo(f"{plan.settings} would hold:\n{plan.text}", nl=False)
    elif plan.changes_settings:
        click.echo(f"Enabled {PLUGIN_NAME}@{MARKETPLACE_NAME} in {plan.settings}.")
        trusted = "" if for_user else " once you have trusted this folder"
        click.echo(f"New sessions will load it{trusted}; the first one may still be fetching it.")
    else:
        click.echo(f"{plan.settings} has it already.")
    _print_skill_state(plan.skill.path, plan.skill.state, dry_run)


@command.command("uninstall")
@_scope_option
@add_json_option(_JSON_HELP)
def uninstall_plugin_command(for_user: bool, as_json: bool) -> None:
    """Undo `install`: Claude Code no longer loads the plugin. What you changed yourself stays."""
    plan = plan_removal(_choose_folder(for_user), find_plugin_folder())
    uninstall_plugin(plan)
    removes_skill = plan.skill.state in ("current", "outdated")
    if as_json:
        _print_json(
            {"settings": plan.settings, "skill": plan.skill.path, "changed": plan.changes_settings or removes_skill}
        )
        return
    click.echo(f"Removed from {plan.settings}." if plan.changes_settings else f"{plan.settings} does not have it.")
    if removes_skill:
        click.echo(f"Removed {plan.skill.path}.")
    elif plan.skill.state == "theirs":
        click.echo(f"{plan.skill.path} was edited, so it is kept.")


def _choose_folder(for_user: bool) -> str:
    return find_user_folder(os.environ) if for_user else find_project_folder(os.getcwd())


def _print_json(record: dict[str, object]) -> None:
    click.echo(msgspec.json.encode(record))


def _print_skill_state(path: str, state: str, dry_run: bool) -> None:
    if state == "theirs":
        click.echo(f"{path} was edited, so it is kept. To get ralph's version, remove it and install again.")
    elif state != "current":
        click.echo(f"{path} would be written." if dry_run else f"/ralph-plan is in {path}.")
