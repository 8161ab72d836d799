"""`ralph doctor`: what is well, what is not, and the next command to type."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ralph.app.setup.doctor import DoctorFinding


def build(version_of: Callable[[str], str], active_run: Callable[[], str]) -> click.Command:
    """The command, with the two questions it cannot answer itself: an agent's version, and which run is active."""

    @click.command("doctor")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def doctor(as_json: bool) -> int:
        """Check that everything a run needs is there; exit code 2 when something is not."""
        from ralph.app.setup.doctor import DoctorContext, run_checks

        encoding = sys.stdout.encoding or "ascii"
        patient = DoctorContext(
            folder=os.getcwd(), environment=os.environ, encoding=encoding, version_of=version_of, active_run=active_run
        )
        findings = tuple(map(_redact_finding, run_checks(patient)))
        well = all(finding.verdict != "FAIL" for finding in findings)
        click.echo(_render_findings_json(findings, well) if as_json else "\n".join(map(format_finding, findings)))
        return 0 if well else 2

    return doctor


def _redact_finding(finding: "DoctorFinding") -> "DoctorFinding":
    """It may quote a command or a setting."""
    from msgspec.structs import replace

    from ralph.core.text.secrets import redact

    return replace(finding, what=redact(finding.what), next=redact(finding.next))


def format_finding(finding: "DoctorFinding") -> str:
    advice = f" — {finding.next}" if finding.next else ""
    return f"{finding.verdict:<4}  {finding.what}{advice}"


def _render_findings_json(findings: "tuple[DoctorFinding, ...]", well: bool) -> str:
    from ralph.config.writing import format_json

    return format_json({"ok": well, "findings": findings})


def _find_active_run() -> str:
    from ralph.app import paths as places
    from ralph.app.runs import status

    runs = status.list_recent_runs(places.find_paths(os.getcwd()), 20)
    return next((run.id for run in runs if run.ended_at is None), "")


def _ask_version(program: str) -> str:
    from ralph.app.agents.version import ask_version

    return ask_version(program, os.environ)


command = build(version_of=_ask_version, active_run=_find_active_run)
