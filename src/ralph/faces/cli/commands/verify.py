"""`ralph verify`: a task's verification by hand, and the templates there are."""

import os
import sys
from typing import TYPE_CHECKING

import click

from ralph.model.errors import UsageError
from ralph.model.spec import ROLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph.app.board.verify import StageFinding
    from ralph.model.spec import Role

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


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
@_json_option
def verify_task_command(task: str, agent: "Role | None", message: str | None, as_json: bool) -> int:
    """Verify TASK in its work tree (without one: here), as if its agents had promised just now.

    Every look is recorded: `ralph task show TASK`. Exit code: 0 verified, 1 not, 130 interrupted.
    """
    from ralph.app import paths as places
    from ralph.app.board.verify import is_verified, verify_task
    from ralph.app.session import Callbacks
    from ralph.config.sources import load_settings
    from ralph.faces.cli.live.watching import announce_shutdown

    here = places.find_paths(os.getcwd())
    settings = load_settings(here.folder, os.environ, {}).settings
    roles = (agent,) if agent else ROLES
    said = _read_message(message) if message else ""
    found = verify_task(
        here,
        settings,
        variables=os.environ,
        callbacks=Callbacks(on_signal=announce_shutdown),
        task=task,
        roles=roles,
        message=said,
    )
    click.echo(_render_findings_json(task, found) if as_json else _render_findings_text(found))
    if any(finding.verdict and finding.verdict.interrupted for finding in found):
        return 130
    return 0 if is_verified(found) else 1


@command.command("templates")
@_json_option
def list_templates_command(as_json: bool) -> None:
    """Show the verifications that are ready made; a task names one where it names its method."""
    from ralph.app.board.verify import list_templates

    found = list_templates()
    if as_json:
        import msgspec

        records = [{"name": name, **msgspec.structs.asdict(template)} for name, template in found.items()]
        click.echo(msgspec.json.encode(records))
        return
    width = max(map(len, found))
    for name, template in found.items():
        needs = f" (needs {', '.join(template.needs)})" if template.needs else ""
        click.echo(f"{name:<{width}}  {template.method:<14}  {template.description}{needs}")


def _render_findings_text(found: "Sequence[StageFinding]") -> str:
    from ralph.core.text.plain import sanitize

    lines: list[str] = []
    for finding in found:
        verdict = finding.verdict
        mark = "·" if verdict is None else "✓" if verdict.verified else "✗"
        lines.append(f"{mark} {finding.agent:<8}  {finding.method}: {finding.reason}")
        if verdict:
            lines += [f"    {note}" for note in verdict.notes]
            lines += [f"    {line}" for line in verdict.detail.splitlines()[-20:] if not verdict.verified]
    return sanitize("\n".join(lines))


def _render_findings_json(task: str, found: "Sequence[StageFinding]") -> str:
    import msgspec

    from ralph.app.board.verify import is_verified

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
    return msgspec.json.encode({"task": task, "verified": is_verified(found), "findings": records}).decode()


def _read_message(file: str) -> str:
    try:
        if file == "-":
            return sys.stdin.read()
        with open(file, encoding="utf-8", errors="replace") as source:
            return source.read()
    except OSError as error:
        raise UsageError(f"cannot read {file!r}: {error.strerror}", "give a readable file, or `-`") from error
