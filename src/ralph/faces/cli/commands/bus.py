"""`ralph bus`: what agents and people tell each other."""

import os
import time
from pathlib import Path

import click
import msgspec

from ralph.app.messages import (
    MessageOrigin,
    detect_origin,
    follow_messages,
    post_message,
    read_messages,
    resolve_bus_path,
)
from ralph.core.text.utf8 import refuse_undecoded
from ralph.faces.cli.options.amounts import CountParam
from ralph.faces.cli.options.durations import DurationParam
from ralph.faces.cli.options.output_flags import CommandT, add_json_option
from ralph.faces.cli.options.text_file import STDIN_NAME, TextFile
from ralph.model.errors import UsageError
from ralph.model.message import MESSAGE_TYPES, Message

_JSON_HELP = "One JSON object a line."
_PATH_TYPE = click.Path(path_type=Path)


def _add_bus_options(command: CommandT) -> CommandT:
    """Adds --bus and --task, which say which bus is meant."""
    command = click.option("--bus", type=_PATH_TYPE, metavar="FILE", help="The bus file.")(command)
    return click.option(
        "--task", type=_PATH_TYPE, metavar="DIR", help="The bus of this task folder. [default: $TASK_FOLDER]"
    )(command)


_since_option = click.option("--since", metavar="ID", help="Only messages after this one.")


@click.group("bus", short_help="Post and read messages of supervised tasks.")
def command() -> None:
    """Post, read and follow messages of agents, ralph and people."""


@command.command("post")
@_add_bus_options
@click.option("--type", "kind", default="INFO", show_default=True, help="Its type: see `ralph bus types`, or any word.")
@click.option("--project", metavar="ID", help="Project id. [default: from the task folder]")
@click.option("--task-id", metavar="ID", help="Task id. [default: from the task folder]")
@click.option("--run", metavar="ID", help="Run id. [default: $RALPH_RUN_ID]")
@add_json_option(_JSON_HELP)
@click.argument("body")
def post_message_command(
    bus: Path | None,
    task: Path | None,
    kind: str,
    project: str | None,
    task_id: str | None,
    run: str | None,
    as_json: bool,
    body: str,
) -> None:
    """Post BODY (`-`: standard input) and print the message's id."""
    path = resolve_bus_path(bus, task, os.environ)
    detected = detect_origin(path, os.environ)
    origin = MessageOrigin(project or detected.project_id, task_id or detected.task_id, run or detected.run_id)
    msg_id = post_message(path, kind, _read_body(body), origin)
    click.echo(msgspec.json.encode({"msg_id": msg_id}) if as_json else msg_id)


@command.command("read")
@_add_bus_options
@_since_option
@click.option("--last", type=CountParam(), metavar="N", help="Only the newest N.")
@add_json_option(_JSON_HELP)
def read_messages_command(
    bus: Path | None, task: Path | None, since: str | None, last: int | None, as_json: bool
) -> None:
    """Print messages, oldest first."""
    for message in read_messages(resolve_bus_path(bus, task, os.environ), since, last):
        _print_message(message, as_json)


@command.command("follow")
@_add_bus_options
@_since_option
@click.option("--last", type=CountParam(), metavar="N", help="Start with the newest N. [default: all]")
@click.option("--timeout", type=DurationParam(zero=True), metavar="SECONDS", help="Stop after this long.")
@add_json_option(_JSON_HELP)
def follow_messages_command(
    bus: Path | None, task: Path | None, since: str | None, last: int | None, timeout: float | None, as_json: bool
) -> None:
    """Print messages and follow new ones until Ctrl-C."""
    end = None if timeout is None else time.monotonic() + timeout
    stop = (lambda: False) if end is None else (lambda: time.monotonic() >= end)
    for message in follow_messages(resolve_bus_path(bus, task, os.environ), since, last, stop):
        _print_message(message, as_json)


@command.command("types")
@add_json_option(_JSON_HELP)
def list_types_command(as_json: bool) -> None:
    """Print the common types and what they mean."""
    for name, meaning in MESSAGE_TYPES.items():
        click.echo(msgspec.json.encode({"type": name, "meaning": meaning}) if as_json else f"{name:<21} {meaning}")


def _read_body(body: str) -> str:
    if body == STDIN_NAME:
        body = TextFile(body).read_text().removesuffix("\n")
    refuse_undecoded(body, "the message")
    if not body.strip():
        raise UsageError("an empty message", "say something, or `-` to read it from standard input")
    return body


def _print_message(message: Message, as_json: bool) -> None:
    click.echo(msgspec.json.encode(message) if as_json else _format_message(message))


def _format_message(message: Message) -> str:
    """A line about the message, its text below. Only text: a message may come from anywhere."""
    body = message.body.replace("\n", "\n    ")
    text = f"{message.ts:%Y-%m-%d %H:%M:%S} {message.type}  {message.msg_id}\n    {body}"
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
