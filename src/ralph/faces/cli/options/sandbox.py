"""--sandbox and --no-sandbox: where agents run, and who says yes where there is no sandbox."""

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click
from msgspec.structs import replace

from ralph.app.sandbox.choice import Isolation, NotIsolated, settle_isolation
from ralph.config.schema import Settings
from ralph.core.text.plain import sanitize
from ralph.model.errors import UsageError
from ralph.model.sandbox import SandboxChoice

HOST_QUESTION = "Let the agent do everything on this machine, as you?"
STRONGEST = "any"
_CommandT = TypeVar("_CommandT", bound=Callable[..., Any])


def add_sandbox_options(command: _CommandT) -> _CommandT:
    """Adds both; `choose_sandbox_kind` reads them."""
    command = click.option("--no-sandbox", is_flag=True, help="Run agents directly on this machine.")(command)
    return click.option(
        "--sandbox",
        is_flag=False,
        flag_value=STRONGEST,
        default=None,
        metavar="[KIND]",
        help="Require a sandbox for agents and checks: docker, podman, bubblewrap, seatbelt or agent. Without KIND, the"
        " strongest one available.",
    )(command)


def choose_sandbox_kind(sandbox: str | None, no_sandbox: bool) -> str | None:
    """The value of the setting sandbox.kind; None: as settings say."""
    if sandbox is not None and no_sandbox:
        raise UsageError("--sandbox and --no-sandbox exclude each other", "give one of them")
    if sandbox is not None and sandbox not in get_args(SandboxChoice):
        kinds = ", ".join(kind for kind in get_args(SandboxChoice) if kind not in ("none", STRONGEST))
        raise UsageError(f"there is no sandbox {sandbox!r}", f"one of {kinds}; for the strongest, put --sandbox last")
    return "none" if no_sandbox else sandbox


def settle_sandbox(settings: Settings, *, as_json: bool, wants_everything: bool = False) -> tuple[Settings, Isolation]:
    """Before a run. An agent that may do everything and has no sandbox needs a yes: on a terminal somebody is asked."""
    try:
        return settle_isolation(settings, os.environ, wants_everything=wants_everything)
    except NotIsolated as problem:
        if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        click.echo(sanitize(f"{problem.message}\n{problem.hint}"), err=True)
        if not click.confirm(HOST_QUESTION, default=False, err=True):
            raise NotIsolated("not started: the agent has no sandbox", problem.hint) from None
    return replace(settings, sandbox=replace(settings.sandbox, kind="none")), Isolation()
