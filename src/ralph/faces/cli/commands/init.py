"""`ralph init`: writes `.ralph/settings.json`, by interview or, with --yes, from what is found."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from ralph.model.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from ralph.faces.cli.commands.interview import Terminal

INTERRUPTED = 130


@click.command()
@click.option("-y", "--yes", is_flag=True, help="Ask nothing: write what is detected.")
@click.option("--force", is_flag=True, help="Replace existing settings without asking.")
def command(yes: bool, force: bool) -> int:
    """Create .ralph/settings.json: the agent, its limits, the guardrails."""
    if yes:
        return init_unattended(sys.stdout, os.getcwd(), os.environ, force=force)
    return init(sys.stdin, sys.stdout, os.getcwd(), os.environ, force=force)


def init(
    console_in: TextIO | None, console_out: TextIO, folder: str, environment: Mapping[str, str], *, force: bool = False
) -> int:
    """Ask everything, then write at once; 130 when interrupted, with nothing written."""
    if console_in is None or not console_in.isatty():
        raise UsageError(
            "ralph init asks questions, and stdin is not a terminal", "to write what is detected: ralph init --yes"
        )
    from ralph.app.agents import detect
    from ralph.faces.cli.commands.interview import Terminal, interview

    terminal = Terminal(_forgiving(console_in), console_out)
    try:
        with _terminated_like_interrupted():
            if not force and not _may_overwrite(terminal, folder):
                return 0
            terminal.say("")
            raw = interview(terminal, detect.agent(environment, folder), detect.guardrails(folder))
    except (KeyboardInterrupt, EOFError):
        terminal.say("\nInterrupted: nothing was written.")
        return INTERRUPTED
    terminal.say("")
    _write(terminal.say, folder, raw)
    return 0


def init_unattended(console_out: TextIO, folder: str, environment: Mapping[str, str], *, force: bool = False) -> int:
    """Write what is detected, and say what that is."""
    from ralph.app.setup.init import detected
    from ralph.config.sources import SETTINGS
    from ralph.config.writing import pretty

    def say(text: str) -> None:
        console_out.write(f"{text}\n")

    if not force and os.path.lexists(os.path.join(folder, SETTINGS)):
        raise UsageError(f"{SETTINGS} exists already", "to replace it: ralph init --yes --force")
    raw = detected(folder, environment)
    say(pretty({key: raw[key] for key in ("agent", "guardrails")}))
    if not raw["guardrails"]:
        say("No tests or linters found: nothing will check what the agent claims. Add guardrails.")
    _write(say, folder, raw)
    return 0


def _may_overwrite(terminal: "Terminal", folder: str) -> bool:
    """Show what exists and ask; yes where nothing does."""
    from ralph.config.redaction import redacted
    from ralph.config.sources import LOCAL_SETTINGS, SETTINGS, project
    from ralph.config.writing import pretty

    if not os.path.lexists(os.path.join(folder, SETTINGS)):
        return True
    try:
        raw, files = project(folder)
    except ConfigError as error:
        raise ConfigError(error.message, error.hint or "mend it, or start over: ralph init --force") from None
    overlay = " (with local overlay from settings.local.json)" if LOCAL_SETTINGS in files else ""
    terminal.say(pretty(redacted(raw)))
    terminal.say(f"Loaded from {SETTINGS}{overlay}")
    return terminal.agrees("Overwrite? (y/N): ")


def _write(say: Callable[[str], None], folder: str, raw: Mapping[str, object]) -> None:
    from ralph.app.setup.init import ignore_logs, write
    from ralph.config.sources import SETTINGS

    write(folder, raw)
    if done := ignore_logs(folder):
        say(done)
    say(f"Settings written to {SETTINGS}")


def _forgiving(console_in: TextIO) -> TextIO:
    """Bytes that are no text in this terminal's encoding are asked about again; they are no crash."""
    if hasattr(console_in, "reconfigure"):
        console_in.reconfigure(errors="surrogateescape")
    return console_in


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM ends the questions as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
