"""What changed in settings, prompts and hooks while agents were at work: told first, and asked about if weaker."""

import os
import sys

import click

from ralph.app.paths import Paths
from ralph.app.runs.inside_agent import find_enclosing_run
from ralph.app.runs.settings_watch import PendingChanges, find_pending_changes, forget_pending_changes
from ralph.core.text.plain import sanitize
from ralph.model.errors import ConfigError, InsideAgent

CONSENT_QUESTION = "Start with these settings?"
accept_settings_option = click.option(
    "--accept-settings", is_flag=True, help="Accept settings that got weaker while an agent was running."
)


def settle_settings_changes(paths: Paths, *, accepted: bool, as_json: bool = False) -> tuple[str, ...]:
    """Before a run starts. Says what changed since an earlier one began; where checks got weaker, somebody must accept
    it: by the option, or by answering on a terminal. Gives the warnings that are still to be shown."""
    pending = find_pending_changes(paths, os.environ)
    if not pending.files:
        return ()
    names = ", ".join(f"{change.name} ({change.what})" for change in pending.files)
    warning = f"changed while an agent was running in run {', '.join(pending.runs)}: {names}"
    if not as_json:
        _print_changes(warning, pending)
    inside = find_enclosing_run(os.environ)
    if pending.weakenings and not (accepted and not inside):
        _ask_or_refuse(pending, inside, as_json=as_json)
    if not inside:
        forget_pending_changes(paths, os.environ, pending)
    return (warning, *pending.weakenings) if as_json else ()


def _print_changes(warning: str, pending: PendingChanges) -> None:
    click.echo(sanitize(f"warning: {warning}"), err=True)
    for change in pending.files:
        click.echo(sanitize(change.diff), err=True)
    for weakening in pending.weakenings:
        click.echo(sanitize(f"weaker: {weakening}"), err=True)


def _ask_or_refuse(pending: PendingChanges, inside: str, *, as_json: bool) -> None:
    what = f"checks got weaker during run {', '.join(pending.runs)}: {'; '.join(pending.weakenings)}"
    if inside:
        raise InsideAgent(what, "the user must accept this first")
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ConfigError(what, "revert them, or accept them with --accept-settings")
    if not click.confirm(CONSENT_QUESTION, default=False, err=True):
        raise ConfigError("not started: the settings were not accepted", "revert them, then start again")
