"""`ralph agents`: which agents there are, and whether one keeps to what the loop relies on."""

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ralph.app.agents.catalog import KnownAgent
    from ralph.app.agents.conformance import AgentUnderTest, ConformanceCard

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("agents", invoke_without_command=True, short_help="List coding agents; check one.")
@_json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the known agents, those that are installed, and what each can tell."""
    if context.invoked_subcommand is None:
        from ralph.app.agents.catalog import list_agents

        found = list_agents(os.getcwd(), os.environ)
        click.echo(
            _format_json({"agents": [_agent_to_dict(agent) for agent in found]}) if as_json else _render_agents(found)
        )


@command.command("check")
@click.argument("agent", metavar="NAME|CMD")
@click.option("--adapter", metavar="NAME", help="Which adapter speaks to it.  [default: by its name]")
@click.option("--yes", is_flag=True, help="Allow one small real prompt where nothing else is possible.")
@_json_option
def check_agent_command(agent: str, adapter: str | None, yes: bool, as_json: bool) -> int:
    """Try an installed agent on all that the loop relies on, and print its capability card.

    Where it can be pointed at the scripted model, no real model is asked and no key is used. Else one small prompt is
    sent, after asking.

    Exit code: 0 when nothing is wrong, 1 when something is, 2 when it cannot be tried.
    """
    from ralph.app.agents.conformance import check_conformance, resolve_agent_under_test

    tried = resolve_agent_under_test(agent, adapter, os.getcwd(), os.environ)
    if not tried.is_free and not yes:
        _confirm_real_prompt(tried)
    card = check_conformance(tried, os.environ, lambda what: click.echo(f"… {what}", err=True))
    if as_json:
        click.echo(_format_json({**_to_dict(card), "conforms": card.conforms}))
    else:
        click.echo(_render_card(card))
    return 0 if card.conforms else 1


def _confirm_real_prompt(tried: "AgentUnderTest") -> None:
    from ralph.model.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError(
            f"{tried.command.adapter} cannot be pointed at the scripted model: it needs one small real prompt",
            "allow it with --yes",
        )
    click.confirm(f"Send one small real prompt to {tried.command.argv[0]}?", abort=True)


def _render_agents(found: "tuple[KnownAgent, ...]") -> str:
    return "\n".join((*map(_render_agent, found), "", "Check one: ralph agents check NAME"))


def _render_agent(agent: "KnownAgent") -> str:
    traits = agent.traits
    named = {"events": traits.streaming, "tools": traits.tools, "session": traits.session}
    told = {**named, "tokens": traits.tokens, "cost": traits.cost}
    where = agent.path or {"scripted": "part of ralph", "command": "whatever agent.command names"}.get(agent.name)
    version = f", {agent.version}" if agent.version else ""
    lines = (
        f"{agent.name:<10}{traits.title}: {where or 'not found on PATH'}{version}",
        f"{'':<10}tells {', '.join(name for name, tells in told.items() if tells) or 'its text'}",
        f"{'':<10}verified: {traits.verified}",
    )
    return "\n".join(lines)


def _agent_to_dict(agent: "KnownAgent") -> dict[str, object]:
    told = _to_dict(agent)
    return {**told, "found": bool(agent.path)}


def _render_card(card: "ConformanceCard") -> str:
    named = ", ".join(filter(None, (card.path, card.version)))
    width = max(len(mark.topic) for mark in card.marks)
    lines = [f"  {mark.topic:<{width}}  {mark.verdict:<10}  {mark.detail}".rstrip() for mark in card.marks]
    end = "Nothing is wrong." if card.conforms else "Something is wrong: the loop cannot rely on it."
    return "\n".join((f"{card.title}: {named}; tried {card.how}", *lines, end))


def _to_dict(value: object) -> dict[str, object]:
    import msgspec

    told: dict[str, object] = msgspec.to_builtins(value)
    return told


def _format_json(value: object) -> str:
    from ralph.config.writing import format_json

    return format_json(value)
