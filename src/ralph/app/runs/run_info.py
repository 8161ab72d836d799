"""`run-info.yaml` of a supervised task's agent run: a projection of its record, for people and scripts."""

import json
import os
import time

from ralph.model.supervised import AttemptRecord
from ralph.process.atomic_file import read_regular_file, write_atomic


def write_run_info(attempt: AttemptRecord, task: str, agent: str, parent: str) -> None:
    """Write `run-info.yaml`, unless it says so already; a full disk costs the file, never the run."""
    if not os.path.isdir(attempt.folder):
        return  # whoever deleted it does not want it back
    path, text = os.path.join(attempt.folder, "run-info.yaml"), _render_run_info(attempt, task, agent, parent)
    try:
        if _read_text(path) != text:
            write_atomic(path, text)
    except OSError:
        pass


def _read_text(path: str) -> str:
    try:
        return read_regular_file(path)
    except OSError:
        return ""


def _render_run_info(attempt: AttemptRecord, task: str, agent: str, parent: str) -> str:
    fields: dict[str, object] = {
        "run_id": attempt.id,
        "parent_run_id": parent,
        "previous_run_id": attempt.previous or "",
        "loop_id": attempt.run,
        "project_id": attempt.project,
        "task_id": task,
        "agent": agent,
        "pid": attempt.pid,
        "pgid": attempt.pid,
        "start_time": _format_iso_time(attempt.started_at),
        "end_time": _format_iso_time(attempt.ended_at) if attempt.ended_at else "",
        "exit_code": -1 if attempt.exit_code is None else attempt.exit_code,
        "status": attempt.status,
        "error_summary": attempt.error,
    }
    return "".join(f"{name}: {_format_yaml_scalar(value)}\n" for name, value in fields.items())


def _format_yaml_scalar(value: object) -> str:
    """Numbers as they are, text as JSON writes it: that is YAML too."""
    return str(value) if isinstance(value, int) else json.dumps(value, ensure_ascii=False)


def _format_iso_time(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
