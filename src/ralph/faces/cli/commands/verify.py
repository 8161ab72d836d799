"""`ralph verify`: a task by hand, the checks of a run again, all that has landed."""

import os
import re
import sys
from collections.abc import Sequence

import click
import msgspec

from ralph.app.agents.choice import anchor_agents
from ralph.app.board.tasks import list_cards
from ralph.app.board.verify import StageFinding, is_verified, list_templates, verify_task
from ralph.app.board.verify_landed import verify_landed_tasks
from ralph.app.paths import find_project_paths
from ralph.app.runs.proofs.verify_run import verify_run
from ralph.app.session import Callbacks
from ralph.config.sources import load_settings
from ralph.core.text.plain import sanitize
from ralph.faces.cli.live.watching import announce_shutdown
from ralph.faces.cli.options.known_names import complete_task
from ralph.faces.cli.options.output_flags import add_json_option, add_look_options
from ralph.faces.cli.options.run_names import complete_any_run
from ralph.faces.cli.options.text_file import TextFile, TextFileParam
from ralph.faces.cli.pages.verification import VerificationPage
from ralph.faces.cli.terminal.columns import align_columns
from ralph.faces.cli.terminal.look import TerminalStyle, resolve_style
from ralph.model.spec import ROLES, Role

RUN_ID_PATTERN = re.compile(r"\d{8}-\d{1,6}(-[0-9a-f]{0,4})?$")
COMMIT_PATTERN = re.compile(r"[0-9a-f]{7,64}|HEAD|.*[~^].*")


class VerifyGroup(click.Group):
    """Takes a first word that is no command for a task, or for a run, its receipt or its commit."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`ralph verify --all` is `ralph verify all`."""
        return super().parse_args(
            ctx, ["all", *(word for word in args if word != "--all")] if "--all" in args else args
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """`ralph verify TASK` is `ralph verify task TASK`, `ralph verify RUN` is `ralph verify run RUN`."""
        if not args or args[0] in self.commands or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        return super().resolve_command(ctx, ["run" if _names_receipt(args[0]) else "task", *args])


def _names_receipt(word: str) -> bool:
    """A task has the first claim to its name."""
    paths = find_project_paths(os.getcwd())
    if word in {card.id for card in list_cards(paths)}:
        return False
    return bool(RUN_ID_PATTERN.match(word)) or os.path.isfile(word) or bool(COMMIT_PATTERN.fullmatch(word))


@click.group("verify", cls=VerifyGroup, short_help="Verify a task now, or run the checks of a run again.")
def command() -> None:
    """Verify a task now, or run the checks of a run again.

    \b
    ralph verify TASK     a task, as if its agents had promised just now
    ralph verify RUN      every check of a run; also by receipt.json or commit
    ralph verify --all    the checks of all merged tasks, on the target now
    ralph verify templates   built-in verifications
    """


@command.command("run")
@click.argument("run", metavar="RUN|FILE|COMMIT", shell_complete=complete_any_run)
@add_look_options
@add_json_option()
def verify_run_command(run: str, color: str | None, glyphs: str | None, as_json: bool) -> int:
    """Run every check of a run again, on the files it checked.

    The files are put into a temporary work tree; yours stays as it is.
    Exit code: 0 all of it holds, 1 not, 130 interrupted.
    """
    found = verify_run(find_project_paths(os.getcwd()), run, os.environ)
    if as_json:
        click.echo(msgspec.json.encode({**msgspec.to_builtins(found), "holds": found.holds}))
    else:
        style = load_style(color, glyphs)
        click.echo(VerificationPage(style).render_run(found), color=style.color)
    return 130 if found.interrupted else 0 if found.holds else 1


@command.command("all")
@add_look_options
@add_json_option()
def verify_all_command(color: str | None, glyphs: str | None, as_json: bool) -> int:
    """Run the checks of all merged tasks on the target as it is now.

    Exit code: 0 all of them pass, 1 not, 130 interrupted.
    """
    paths = find_project_paths(os.getcwd())
    found = verify_landed_tasks(
        paths,
        load_settings(paths.folder, os.environ, seen_from=paths.started_in).settings,
        variables=os.environ,
        callbacks=Callbacks(on_signal=announce_shutdown),
    )
    holds = all(each.holds for each in found)
    if as_json:
        records = [{**msgspec.to_builtins(each), "holds": each.holds} for each in found]
        click.echo(msgspec.json.encode({"holds": holds, "tasks": records}))
    else:
        style = load_style(color, glyphs)
        click.echo(VerificationPage(style).render_landed(found), color=style.color)
    return 130 if any(each.interrupted for each in found) else 0 if holds else 1


@command.command("task")
@click.argument("task", metavar="TASK", shell_complete=complete_task)
@click.option("--agent", type=click.Choice(ROLES), help="Only this agent's.  [default: all of them]")
@click.option(
    "--message",
    type=TextFileParam(),
    metavar="FILE",
    help="An agent's final message to look at; `-` for standard input.",
)
@add_json_option()
def verify_task_command(task: str, agent: Role | None, message: TextFile | None, as_json: bool) -> int:
    """Verify TASK now. In its work tree (without one: here), as if its agents had promised just now.

    Every look is recorded: `ralph task show TASK`. Exit code: 0 verified, 1 not, 130 interrupted.
    """
    paths = find_project_paths(os.getcwd())
    settings = load_settings(paths.folder, os.environ, seen_from=paths.started_in).settings
    findings = verify_task(
        paths,
        anchor_agents(settings, paths.folder),
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
    """Show built-in verifications. A task names one where it names its method."""
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


def load_style(color: str | None, glyphs: str | None) -> TerminalStyle:
    given = {"display.color": color, "display.glyphs": glyphs}
    paths = find_project_paths(os.getcwd())
    display = load_settings(paths.folder, os.environ, given, seen_from=paths.started_in).settings.display
    return resolve_style(sys.stdout, os.environ, glyphs=display.glyphs, color=display.color)


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
