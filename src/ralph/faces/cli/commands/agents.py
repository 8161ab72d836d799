"""`ralph agents`: which agents there are, and whether one keeps to what the loop relies on."""

import os
import sys

import click
import msgspec

from ralph.app.agents.catalog import KnownAgent, list_agents
from ralph.app.agents.conformance import (
    AgentUnderTest,
    ConformanceCard,
    check_conformance,
    resolve_agent_under_test,
)
from ralph.config.writing import format_json
from ralph.faces.cli.options.known_names import complete_agent
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.terminal.columns import align_columns
from ralph.model.errors import UsageError


@click.group("agents", invoke_without_command=True, short_help="List coding agents; check one.")
@add_json_option()
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List known agents, which are installed, and what each reports."""
    if context.invoked_subcommand is None:
        agents = list_agents(os.getcwd(), os.environ)
        click.echo(
            format_json({"agents": [_agent_to_dict(agent) for agent in agents]}) if as_json else _render_agents(agents)
        )


@command.command("check")
@click.argument("agent", metavar="NAME|CMD", shell_complete=complete_agent)
@click.option("--adapter", metavar="NAME", help="Which adapter speaks to it.  [default: by its name]")
@click.option("--yes", is_flag=True, help="Allow one small real prompt where nothing else is possible.")
@add_json_option()
def check_agent_command(agent: str, adapter: str | None, yes: bool, as_json: bool) -> int:
    """Test an installed agent and print its capabilities.

    Uses the scripted model where possible: no real model is asked and no key is needed. Otherwise one small prompt is
    sent, after asking.

    Exit code: 0 when nothing is wrong, 1 when something is, 2 when it cannot be tried.
    """
    tried = resolve_agent_under_test(agent, adapter, os.getcwd(), os.environ)
    if not tried.is_free and not yes:
        _confirm_real_prompt(tried)
    card = check_conformance(tried, os.environ, lambda what: click.echo(f"… {what}", err=True))
    if as_json:
        click.echo(format_json({**_to_dict(card), "conforms": card.conforms}))
    else:
        click.echo(_render_card(card))
    return 0 if card.conforms else 1


def _confirm_real_prompt(tried: AgentUnderTest) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            f"{tried.command.adapter} cannot be pointed at the scripted model: it needs one small real prompt",
            "allow it with --yes",
        )
    click.confirm(f"Send one small real prompt to {tried.command.argv[0]}?", abort=True)


def _render_agents(agents: tuple[KnownAgent, ...]) -> str:
    return "\n".join((*map(_render_agent, agents), "", "Check one: ralph agents check NAME"))


def _render_agent(agent: KnownAgent) -> str:
    card = agent.card
    named = {"events": card.streaming, "tools": card.tools, "session": card.session}
    reported = {**named, "tokens": card.tokens, "cost": card.cost}
    where = agent.path or {"scripted": "part of ralph", "command": "whatever agent.command names"}.get(agent.name)
    version = f", {agent.version}" if agent.version else ""
    missing = f"not found on PATH; install it with `{card.install}`" if card.install else "not found on PATH"
    lines = (
        f"{agent.name:<10}{card.title}: {where or missing}{version}",
        f"{'':<10}reports: {', '.join(name for name, known in reported.items() if known) or 'text only'}",
        f"{'':<10}verified: {card.verified}",
    )
    return "\n".join(lines)


def _agent_to_dict(agent: KnownAgent) -> dict[str, object]:
    return {**_to_dict(agent), "found": bool(agent.path)}


def _render_card(card: ConformanceCard) -> str:
    named = ", ".join(filter(None, (card.path, card.version)))
    lines = align_columns([(f"  {mark.topic}", f"{mark.verdict:<10}", mark.detail) for mark in card.marks])
    end = "All checks passed." if card.conforms else "Something is wrong: the loop cannot rely on it."
    return "\n".join((f"{card.title}: {named}; tried {card.how}", *lines, end))


def _to_dict(value: object) -> dict[str, object]:
    record: dict[str, object] = msgspec.to_builtins(value)
    return record
