"""How a verification began and ended, for whoever watches, and what it cost."""

import os
import time

from ralph.core.text.check_output import take_last_lines
from ralph.core.text.secrets import redact
from ralph.model.board import CostRecorded
from ralph.model.events import GateEnded, GateStarted
from ralph.model.ports import TaskBoard
from ralph.model.spec import CompletionCriteria, Role
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


def record_landing_cost(board: TaskBoard, usd: float | None, *, role: Role, run: str) -> float | None:
    """Of a judge who looked at the merged tree: no iteration of the stage."""
    if usd is not None:
        task = board.entry().task.id
        board.record(CostRecorded(task=task, stage=role, iteration=0, at=time.time(), cost_usd=usd, run=run))
    return usd


def list_log_names(verdict: Verdict) -> tuple[str, ...]:
    """In the run's own folder."""
    return tuple(map(os.path.basename, verdict.list_logs()))
