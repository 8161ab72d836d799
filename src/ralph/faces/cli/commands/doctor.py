"""`ralph doctor`: what is well, what is not, and the next command to type."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ralph.app.setup.doctor import Finding


def build(version_of: Callable[[str], str], active_run: Callable[[], str]) -> click.Command:
    """The command, with the two questions it cannot answer itself: an agent's version, and which run is active."""

    @click.command("doctor")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def doctor(as_json: bool) -> int:
        """Check that everything a run needs is there; exit code 2 when something is not."""
        from ralph.app.setup.doctor import Patient, examined

        encoding = sys.stdout.encoding or "ascii"
        patient = Patient(os.getcwd(), os.environ, encoding=encoding, version_of=version_of, active_run=active_run)
        findings = tuple(map(_discreet, examined(patient)))
        well = all(finding.verdict != "FAIL" for finding in findings)
        click.echo(_as_json(findings, well) if as_json else "\n".join(map(line, findings)))
        return 0 if well else 2

    return doctor


def _discreet(finding: "Finding") -> "Finding":
    """It may quote a command or a setting."""
    from msgspec.structs import replace

    from ralph.core.text.secrets import hidden

    return replace(finding, what=hidden(finding.what), next=hidden(finding.next))


def line(finding: "Finding") -> str:
    """`FAIL  what — next command`."""
    advice = f" — {finding.next}" if finding.next else ""
    return f"{finding.verdict:<4}  {finding.what}{advice}"


def _as_json(findings: "tuple[Finding, ...]", well: bool) -> str:
    from ralph.config.writing import pretty

    return pretty({"ok": well, "findings": findings})


def _active_run() -> str:
    from ralph.app import paths as places
    from ralph.app.runs import status

    runs = status.recent(places.find(os.getcwd()), 20)
    return next((run.id for run in runs if run.ended_at is None), "")


def _version_of(program: str) -> str:
    from ralph.app.agents.version import asked

    return asked(program, os.environ)


command = build(version_of=_version_of, active_run=_active_run)
