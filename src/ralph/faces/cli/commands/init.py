"""`ralph init`: writes `.ralph/settings.json`, by interview or, with --yes, from what is found."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

import click

from ralph.app.agents.detect import detect_agent
from ralph.app.paths import find_project_paths
from ralph.app.runs.inside_agent import refuse_inside_agent
from ralph.app.setup.check_trial import format_trial, try_suggested_checks
from ralph.app.setup.gitignore import ignore_logs
from ralph.app.setup.init import detect_settings, write_first_settings
from ralph.config.location import LOCAL_SETTINGS_FILE, SETTINGS_FILE
from ralph.config.redaction import redact_mapping
from ralph.config.sources import load_project_settings
from ralph.config.writing import format_json
from ralph.faces.cli.commands.interview import Prompter, ask_for_settings
from ralph.model.errors import ConfigError, UsageError

INTERRUPTED_EXIT_CODE = 130
ADD_CHECK_COMMAND = 'Next: ralph config set guardrails "the command that tests your project"'
NEXT_COMMAND = 'Next: ralph run -p "Fix the failing tests"'


@click.command()
@click.option("-y", "--yes", is_flag=True, help="Ask nothing: write what is detected.")
@click.option("--force", is_flag=True, help="Replace existing settings without asking.")
def command(yes: bool, force: bool) -> int:
    """Create .ralph/settings.json: the agent, its limits, the guardrails."""
    refuse_inside_agent(os.environ, "ralph init")
    _announce_nested_settings(os.getcwd())
    if yes:
        return init_unattended(sys.stdout, os.getcwd(), os.environ, force=force)
    return init_interactively(sys.stdin, sys.stdout, os.getcwd(), os.environ, force=force)


def init_interactively(
    console_in: TextIO | None, console_out: TextIO, folder: str, environment: Mapping[str, str], *, force: bool = False
) -> int:
    """Ask everything, then write at once; 130 when interrupted, with nothing written."""
    if console_in is None or not console_in.isatty():
        raise UsageError(
            "ralph init asks questions, and stdin is not a terminal", "to write what is detected: ralph init --yes"
        )
    terminal = Prompter(tolerate_bad_bytes(console_in), console_out)
    try:
        with interrupt_on_sigterm():
            if not force and not _may_overwrite(terminal, folder):
                return 0
            terminal.print_line("")
            raw = ask_for_settings(
                terminal, detect_agent(environment, folder), [*try_suggested_checks(folder, environment)]
            )
    except (KeyboardInterrupt, EOFError):
        terminal.print_line("\nInterrupted: nothing was written.")
        return INTERRUPTED_EXIT_CODE
    terminal.print_line("")
    write_new_settings(terminal.print_line, folder, raw)
    terminal.print_line(NEXT_COMMAND)
    return 0


def init_unattended(console_out: TextIO, folder: str, environment: Mapping[str, str], *, force: bool = False) -> int:
    """Write what is detected, and say what that is."""

    def say(text: str) -> None:
        console_out.write(f"{text}\n")

    if not force and os.path.lexists(os.path.join(folder, SETTINGS_FILE)):
        raise UsageError(f"{SETTINGS_FILE} exists already", "to replace it: ralph init --yes --force")
    trials = [*try_suggested_checks(folder, environment)]
    for trial in trials:
        say(format_trial(trial))
    raw = detect_settings(folder, environment, [trial.command for trial in trials if trial.is_usable])
    say(format_json({key: raw[key] for key in ("agent", "guardrails")}))
    if not raw["guardrails"]:
        say("No tests or linters found: nothing will check what the agent claims.")
    write_new_settings(say, folder, raw)
    say(NEXT_COMMAND if raw["guardrails"] else ADD_CHECK_COMMAND)
    return 0


def _announce_nested_settings(folder: str) -> None:
    """Who is in a subfolder may not know of the settings that hold there already."""
    paths = find_project_paths(folder)
    if paths.folder != paths.started_in:
        click.echo(f"Settings of {paths.folder} apply here. New ones will replace them in {paths.started_in}.")


def _may_overwrite(terminal: Prompter, folder: str) -> bool:
    """True if there are no settings yet, or the user agrees after seeing them."""
    if not os.path.lexists(os.path.join(folder, SETTINGS_FILE)):
        return True
    try:
        raw, files = load_project_settings(folder)
    except ConfigError as error:
        raise ConfigError(error.message, error.hint or "fix it, or start over: ralph init --force") from None
    overlay = " (with local overlay from settings.local.json)" if LOCAL_SETTINGS_FILE in files else ""
    terminal.print_line(format_json(redact_mapping(raw)))
    terminal.print_line(f"Loaded from {SETTINGS_FILE}{overlay}")
    return terminal.ask_yes_no("Overwrite? (y/N): ")


def write_new_settings(say: Callable[[str], None], folder: str, raw: Mapping[str, object]) -> None:
    write_first_settings(folder, raw)
    if done := ignore_logs(folder):
        say(done)
    say(f"Settings written to {SETTINGS_FILE}")


def tolerate_bad_bytes(console_in: TextIO) -> TextIO:
    """Undecodable bytes become surrogates, which `Prompter.ask_line` asks about again, instead of an exception."""
    if hasattr(console_in, "reconfigure"):
        console_in.reconfigure(errors="surrogateescape")
    return console_in


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """SIGTERM ends the questions as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
