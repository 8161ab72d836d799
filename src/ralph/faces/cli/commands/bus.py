"""`ralph bus`: what agents and people tell each other."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from ralph.app import messages as use_cases
from ralph.faces.cli.options.amounts import Count
from ralph.faces.cli.options.durations import Duration
from ralph.model.errors import UsageError
from ralph.model.message import KNOWN_TYPES, Message

F = TypeVar("F", bound=Callable[..., Any])  # click's own bound
_FILE = click.Path(path_type=Path)


def _which(command: F) -> F:
    """The two options that say which bus is meant."""
    command = click.option("--bus", type=_FILE, metavar="FILE", help="The bus file.")(command)
    return click.option(
        "--task", type=_FILE, metavar="DIR", help="The bus of this task folder. [default: $TASK_FOLDER]"
    )(command)


_as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
_since = click.option("--since", metavar="ID", help="Only what came after this message.")


@click.group("bus", short_help="Talk to agents and hear them.")
def command() -> None:
    """Post, read and follow messages between agents, ralph and you."""


@command.command("post")
@_which
@click.option("--type", "kind", default="INFO", show_default=True, help="See `ralph bus types`; any word will do.")
@click.option("--project", metavar="ID", help="Project id. [default: from the task folder]")
@click.option("--task-id", metavar="ID", help="Task id. [default: from the task folder]")
@click.option("--run", metavar="ID", help="Run id. [default: $RALPH_RUN_ID]")
@_as_json
@click.argument("body")
def post(
    bus: Path | None,
    task: Path | None,
    kind: str,
    project: str | None,
    task_id: str | None,
    run: str | None,
    as_json: bool,
    body: str,
) -> None:
    """Post BODY, or what comes on standard input for `-`, and print the message's id."""
    path = use_cases.bus_path(bus, task, os.environ)
    known = use_cases.origin(path, os.environ)
    by = use_cases.Origin(project or known.project_id, task_id or known.task_id, run or known.run_id)
    msg_id = use_cases.post(path, kind, _text(body), by)
    click.echo(msgspec.json.encode({"msg_id": msg_id}) if as_json else msg_id)


@command.command("read")
@_which
@_since
@click.option("--last", type=Count(), metavar="N", help="Only the newest N of them.")
@_as_json
def read(bus: Path | None, task: Path | None, since: str | None, last: int | None, as_json: bool) -> None:
    """Print messages, oldest first."""
    for message in use_cases.read(use_cases.bus_path(bus, task, os.environ), since, last):
        _show(message, as_json)


@command.command("follow")
@_which
@_since
@click.option("--last", type=Count(), metavar="N", help="Begin with the newest N. [default: all]")
@click.option("--timeout", type=Duration(zero=True), metavar="SECONDS", help="Stop after that long.")
@_as_json
def follow(
    bus: Path | None, task: Path | None, since: str | None, last: int | None, timeout: float | None, as_json: bool
) -> None:
    """Print messages, then new ones as they come, until Ctrl-C."""
    end = None if timeout is None else time.monotonic() + timeout
    stop = (lambda: False) if end is None else (lambda: time.monotonic() >= end)
    for message in use_cases.follow(use_cases.bus_path(bus, task, os.environ), since, last, stop):
        _show(message, as_json)


@command.command("types")
@_as_json
def types(as_json: bool) -> None:
    """Print the types everybody knows, and what they mean."""
    for name, meaning in KNOWN_TYPES.items():
        click.echo(msgspec.json.encode({"type": name, "meaning": meaning}) if as_json else f"{name:<21} {meaning}")


def _text(body: str) -> str:
    if body == "-":
        body = sys.stdin.buffer.read().decode("utf-8", "replace").removesuffix("\n")
    if not body.strip():
        raise UsageError("an empty message", "say something, or `-` to read it from standard input")
    return body


def _show(message: Message, as_json: bool) -> None:
    click.echo(msgspec.json.encode(message) if as_json else _told(message))


def _told(message: Message) -> str:
    """A line about the message, its text below. Only text: a message may come from anywhere."""
    body = message.body.replace("\n", "\n    ")
    text = f"{message.ts:%Y-%m-%d %H:%M:%S} {message.type}  {message.msg_id}\n    {body}"
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
