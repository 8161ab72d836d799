"""How a verification began and ended, for whoever watches."""

import os

from ralph.core.text.check_output import take_last_lines
from ralph.core.text.secrets import redact
from ralph.model.events import GateEnded, GateStarted
from ralph.model.spec import CompletionCriteria
from ralph.model.verdict import Verdict


def describe_verification_start(title: str, criteria: CompletionCriteria) -> GateStarted:
    command = criteria.verification_config.get("command")
    return GateStarted(title, is_verification=True, command=redact(command) if isinstance(command, str) else "")


def describe_verification_end(title: str, verdict: Verdict) -> GateEnded:
    return GateEnded(
        gate=title,
        passed=verdict.verified,
        exit_code=None,
        seconds=verdict.seconds,
        detail=verdict.reason,
        log=next(iter(verdict.list_logs()), ""),
        run_log=next(iter(list_log_names(verdict)), ""),
        tail="" if verdict.verified else take_last_lines(redact(verdict.detail)),
        is_verification=True,
        command=redact(verdict.name_command()),
    )


def list_log_names(verdict: Verdict) -> tuple[str, ...]:
    """In the run's own folder."""
    return tuple(map(os.path.basename, verdict.list_logs()))
