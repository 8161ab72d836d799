"""`ralph doctor`: what is well, what is not, and the next command to type."""

import os
import sys

import click
from msgspec.structs import replace

from ralph.app.agents.version import ask_version
from ralph.app.paths import find_project_paths
from ralph.app.processes import open_short_lived_processes
from ralph.app.runs.status import list_recent_runs
from ralph.app.sandbox.status import list_sandboxes
from ralph.app.setup.check_trial import has_module, try_check
from ralph.app.setup.doctor import DoctorContext, DoctorFinding, run_checks
from ralph.config.writing import format_json
from ralph.core.text.secrets import redact
from ralph.faces.cli.options.output_flags import add_json_option


@click.command("doctor")
@click.option("--try", "try_checks", is_flag=True, help="Also run each guardrail once and show the result.")
@add_json_option()
def command(try_checks: bool, as_json: bool) -> int:
    """Check that everything a run needs is available. Exit code: 2 when something is missing."""
    paths, variables = find_project_paths(os.getcwd()), os.environ
    folder = paths.folder
    with open_short_lived_processes() as processes:
        context = DoctorContext(
            folder=folder,
            started_in=paths.started_in,
            environment=variables,
            encoding=sys.stdout.encoding or "ascii",
            version_of=lambda program: ask_version(program, folder, variables),
            active_run=_find_active_run,
            sandboxes=lambda: list_sandboxes(variables),
            has_module=lambda python, module: has_module(
                python, module, folder=folder, variables=variables, processes=processes
            ),
            try_check=(lambda check: try_check(check, folder, variables=variables, processes=processes))
            if try_checks
            else None,
        )
        findings = tuple(map(_redact_finding, run_checks(context)))
    well = all(finding.verdict != "FAIL" for finding in findings)
    click.echo(_render_findings_json(findings, well) if as_json else "\n".join(map(format_finding, findings)))
    return 0 if well else 2


def format_finding(finding: DoctorFinding) -> str:
    advice = f" — {finding.next}" if finding.next else ""
    return f"{finding.verdict:<4}  {finding.what}{advice}"


def _redact_finding(finding: DoctorFinding) -> DoctorFinding:
    """It may quote a command or a setting."""
    return replace(finding, what=redact(finding.what), next=redact(finding.next))


def _render_findings_json(findings: tuple[DoctorFinding, ...], well: bool) -> str:
    return format_json({"ok": well, "findings": findings})


def _find_active_run() -> str:
    runs = list_recent_runs(find_project_paths(os.getcwd()), 20)
    return next((run.id for run in runs if run.ended_at is None), "")
