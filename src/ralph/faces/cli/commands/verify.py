"""`ralph verify`: a task's verification by hand, and the templates there are."""

import os
import sys
from typing import TYPE_CHECKING

import click

from ralph.model.errors import UsageError
from ralph.model.spec import ROLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph.app.board.verify import Finding
    from ralph.model.spec import Role

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class VerifyGroup(click.Group):
    """What is none of its commands is a task."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """`ralph verify TASK` is `ralph verify task TASK`."""
        known = args and (args[0] in self.commands or args[0].startswith("-"))
        return super().resolve_command(ctx, args if known else ["task", *args])


@click.group("verify", cls=VerifyGroup, short_help="Verify a task by hand.")
def command() -> None:
    """Run a task's verification by hand: `ralph verify TASK`. `ralph verify templates` lists what is ready made."""


@command.command("task")
@click.argument("task", metavar="TASK")
@click.option("--agent", type=click.Choice(ROLES), help="Only this agent's.  [default: all of them]")
@click.option("--message", metavar="FILE", help="An agent's final message to look at; `-` for standard input.")
@_as_json
def task_(task: str, agent: "Role | None", message: str | None, as_json: bool) -> int:
    """Verify TASK in its work tree (without one: here), as if its agents had promised just now.

    Every look is recorded: `ralph task show TASK`. Exit code: 0 verified, 1 not, 130 interrupted.
    """
    from ralph.app import paths as places
    from ralph.app.board.verify import by_hand, passed
    from ralph.app.session import Wishes
    from ralph.config.sources import load
    from ralph.faces.cli.live.watching import announce

    here = places.find(os.getcwd())
    settings = load(here.folder, os.environ, {}).settings
    roles = (agent,) if agent else ROLES
    said = _text(message) if message else ""
    found = by_hand(here, settings, os.environ, Wishes(on_signal=announce), task, roles, said)
    click.echo(_json(task, found) if as_json else _told(found))
    if any(finding.verdict and finding.verdict.interrupted for finding in found):
        return 130
    return 0 if passed(found) else 1


@command.command("templates")
@_as_json
def templates_(as_json: bool) -> None:
    """Show the verifications that are ready made; a task names one where it names its method."""
    from ralph.app.board.verify import templates

    found = templates()
    if as_json:
        import msgspec

        records = [{"name": name, **msgspec.structs.asdict(template)} for name, template in found.items()]
        click.echo(msgspec.json.encode(records))
        return
    width = max(map(len, found))
    for name, template in found.items():
        needs = f" (needs {', '.join(template.needs)})" if template.needs else ""
        click.echo(f"{name:<{width}}  {template.method:<14}  {template.description}{needs}")


def _told(found: "Sequence[Finding]") -> str:
    from ralph.core.text.plain import plain

    lines: list[str] = []
    for finding in found:
        verdict = finding.verdict
        mark = "·" if verdict is None else "✓" if verdict.verified else "✗"
        lines.append(f"{mark} {finding.agent:<8}  {finding.method}: {finding.reason}")
        if verdict:
            lines += [f"    {note}" for note in verdict.notes]
            lines += [f"    {line}" for line in verdict.detail.splitlines()[-20:] if not verdict.verified]
    return plain("\n".join(lines))


def _json(task: str, found: "Sequence[Finding]") -> str:
    import msgspec

    from ralph.app.board.verify import passed

    records = [
        {
            "agent": finding.agent,
            "method": finding.method,
            "verified": finding.verdict.verified if finding.verdict else None,
            "reason": finding.reason,
            "verdict": finding.verdict,
        }
        for finding in found
    ]
    return msgspec.json.encode({"task": task, "verified": passed(found), "findings": records}).decode()


def _text(file: str) -> str:
    try:
        if file == "-":
            return sys.stdin.read()
        with open(file, encoding="utf-8", errors="replace") as source:
            return source.read()
    except OSError as error:
        raise UsageError(f"cannot read {file!r}: {error.strerror}", "give a readable file, or `-`") from error
