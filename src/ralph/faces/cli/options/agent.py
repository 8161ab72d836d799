"""Which agent, which model, what it may run: the same options for every loop."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from ralph.app.agents.choice import anchor_command, override_agent
from ralph.app.paths import Paths
from ralph.config.schema import Settings
from ralph.faces.cli.options.known_names import complete_agent

_CommandT = TypeVar("_CommandT", bound=Callable[..., Any])


def add_agent_options(*, model: bool = True) -> Callable[[_CommandT], _CommandT]:
    """--agent, --allow and, unless the command has its own, --model."""

    def add(command: _CommandT) -> _CommandT:
        command = click.option(
            "--allow",
            multiple=True,
            metavar="CMD",
            help='A command the agent may run, such as "npm test" or "uv run *"; may be repeated.',
        )(command)
        if model:
            command = click.option("--model", metavar="NAME", help="The model, as the agent calls it.")(command)
        return click.option(
            "--agent",
            metavar="COMMAND",
            help="An agent of `ralph agents`, or any command.",
            shell_complete=complete_agent,
        )(command)

    return add


def apply_agent_options(
    settings: Settings, paths: Paths, *, agent: str | None, model: str | None, allow: tuple[str, ...]
) -> Settings:
    """Settings with what was typed on top."""
    if agent and paths.started_in != paths.folder:
        agent = anchor_command(agent, paths.started_in)
    settings = override_agent(settings, agent, os.environ)
    chosen = settings.agent
    if model:
        chosen = replace(chosen, model=model)
    return replace(settings, agent=replace(chosen, allow=(*chosen.allow, *allow)))
