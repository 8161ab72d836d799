"""`ralph agents`: which agents there are, and whether one keeps to what the loop relies on."""

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ralph.app.agents.catalog import Known
    from ralph.app.agents.conformance import Card, Subject

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("agents", invoke_without_command=True, short_help="List coding agents; check one.")
@_as_json
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the known agents, those that are installed, and what each can tell."""
    if context.invoked_subcommand is None:
        from ralph.app.agents.catalog import known

        found = known(os.getcwd(), os.environ)
        click.echo(_pretty({"agents": [_told(agent) for agent in found]}) if as_json else _list(found))


@command.command("check")
@click.argument("agent", metavar="NAME|CMD")
@click.option("--adapter", metavar="NAME", help="Which adapter speaks to it.  [default: by its name]")
@click.option("--yes", is_flag=True, help="Allow one small real prompt where nothing else is possible.")
@_as_json
def check(agent: str, adapter: str | None, yes: bool, as_json: bool) -> int:
    """Try an installed agent on all that the loop relies on, and print its capability card.

    Where it can be pointed at the scripted model, no real model is asked and no key is used. Else one small prompt is
    sent, after asking.

    Exit code: 0 when nothing is wrong, 1 when something is, 2 when it cannot be tried.
    """
    from ralph.app.agents.conformance import examined, subject

    tried = subject(agent, adapter, os.getcwd(), os.environ)
    if not tried.is_free and not yes:
        _ask(tried)
    card = examined(tried, os.environ, lambda what: click.echo(f"… {what}", err=True))
    if as_json:
        click.echo(_pretty({**_fields(card), "conforms": card.conforms}))
    else:
        click.echo(_card(card))
    return 0 if card.conforms else 1


def _ask(tried: "Subject") -> None:
    from ralph.model.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError(
            f"{tried.crew.adapter} cannot be pointed at the scripted model: it needs one small real prompt",
            "allow it with --yes",
        )
    click.confirm(f"Send one small real prompt to {tried.crew.words[0]}?", abort=True)


def _list(found: "tuple[Known, ...]") -> str:
    return "\n".join((*map(_entry, found), "", "Check one: ralph agents check NAME"))


def _entry(agent: "Known") -> str:
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


def _told(agent: "Known") -> dict[str, object]:
    told = _fields(agent)
    return {**told, "found": bool(agent.path)}


def _card(card: "Card") -> str:
    named = ", ".join(filter(None, (card.path, card.version)))
    width = max(len(mark.topic) for mark in card.marks)
    lines = [f"  {mark.topic:<{width}}  {mark.verdict:<10}  {mark.detail}".rstrip() for mark in card.marks]
    end = "Nothing is wrong." if card.conforms else "Something is wrong: the loop cannot rely on it."
    return "\n".join((f"{card.title}: {named}; tried {card.how}", *lines, end))


def _fields(value: object) -> dict[str, object]:
    import msgspec

    told: dict[str, object] = msgspec.to_builtins(value)
    return told


def _pretty(value: object) -> str:
    from ralph.config.writing import pretty

    return pretty(value)
