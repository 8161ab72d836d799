"""`ralph verify`: a task's verification by hand, and the templates there are."""

import os
from collections.abc import Sequence

import click
import msgspec

from ralph.app.board.verify import StageFinding, is_verified, list_templates, verify_task
from ralph.app.paths import find_project_paths
from ralph.app.session import Callbacks
from ralph.config.sources import load_settings
from ralph.core.text.plain import sanitize
from ralph.faces.cli.live.watching import announce_shutdown
from ralph.faces.cli.options.looks import add_json_option
from ralph.faces.cli.options.text_file import TextFile, TextFileParam
from ralph.faces.cli.terminal.columns import align_columns
from ralph.model.spec import ROLES, Role


class VerifyGroup(click.Group):
    """Takes a first word that is no command for a task."""

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
@click.option(
    "--message",
    type=TextFileParam(),
    metavar="FILE",
    help="An agent's final message to look at; `-` for standard input.",
)
@add_json_option()
def verify_task_command(task: str, agent: Role | None, message: TextFile | None, as_json: bool) -> int:
    """Verify TASK in its work tree (without one: here), as if its agents had promised just now.

    Every look is recorded: `ralph task show TASK`. Exit code: 0 verified, 1 not, 130 interrupted.
    """
    paths = find_project_paths(os.getcwd())
    findings = verify_task(
        paths,
        load_settings(paths.folder, os.environ, seen_from=paths.started_in).settings,
        variables=os.environ,
        callbacks=Callbacks(on_signal=announce_shutdown),
        task=task,
        roles=(agent,) if agent else ROLES,
        message=message.read_text() if message else "",
    )
    click.echo(_render_findings_json(task, findings) if as_json else _render_findings_text(findings))
    if any(finding.verdict and finding.verdict.interrupted for finding in findings):
        return 130
    return 0 if is_verified(findings) else 1


@command.command("templates")
@add_json_option()
def list_templates_command(as_json: bool) -> None:
    """Show the verifications that are ready made; a task names one where it names its method."""
    templates = list_templates()
    if as_json:
        records = [{"name": name, **msgspec.structs.asdict(template)} for name, template in templates.items()]
        click.echo(msgspec.json.encode(records))
        return
    rows = []
    for name, template in templates.items():
        needs = f" (needs {', '.join(template.needs)})" if template.needs else ""
        rows.append((name, template.method, template.description + needs))
    click.echo("\n".join(align_columns(rows)))


def _render_findings_text(findings: Sequence[StageFinding]) -> str:
    lines: list[str] = []
    for finding in findings:
        verdict = finding.verdict
        mark = "·" if verdict is None else "✓" if verdict.verified else "✗"
        lines.append(f"{mark} {finding.agent:<8}  {finding.method}: {finding.reason}")
        if verdict:
            lines += [f"    {note}" for note in verdict.notes]
            lines += [f"    {line}" for line in verdict.detail.splitlines()[-20:] if not verdict.verified]
    return sanitize("\n".join(lines))


def _render_findings_json(task: str, findings: Sequence[StageFinding]) -> str:
    records = [
        {
            "agent": finding.agent,
            "method": finding.method,
            "verified": finding.verdict.verified if finding.verdict else None,
            "reason": finding.reason,
            "verdict": finding.verdict,
        }
        for finding in findings
    ]
    return msgspec.json.encode({"task": task, "verified": is_verified(findings), "findings": records}).decode()
