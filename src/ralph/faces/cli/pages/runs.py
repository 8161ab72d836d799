"""What `ralph status` shows. Without click: people call this often, and it answers in the blink of an eye."""

import os
import time
from typing import TYPE_CHECKING

import msgspec

from ralph.app.paths import find_project_paths
from ralph.app.runs.recovery import find_last_sign, find_run_liveness
from ralph.app.runs.status import count_unrecorded_runs, describe_expectations, describe_place, list_recent_runs
from ralph.core.text.quantities import format_duration, format_money, pluralize
from ralph.faces.activity_labels import ACTIVITY_LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph.model.runs import RunRecord

_OUTCOME_MARKS = {"completed": "✓", "interrupted": "‖", None: "●"}


def render_status(as_json: bool, last: int = 5) -> str:
    """The newest `last` runs of this repository, active ones first; text or JSON."""
    paths = find_project_paths(os.getcwd())
    runs = list_recent_runs(paths, last)
    if as_json:
        return render_runs_json(runs)
    if not runs and (lost := count_unrecorded_runs(paths)):
        return (
            f"No runs on record, but {pluralize(lost, 'run')} on disk: {paths.database} was deleted or emptied.\n"
            f"Their logs are in {os.path.dirname(paths.run_dir('x'))}; they cannot be resumed. Start a new run with"
            " `ralph run -p PROMPT`."
        )
    if not runs:
        return "No runs here yet. Start one with `ralph run -p PROMPT`."
    lines = [*map(format_run, sorted(runs, key=lambda r: r.ended_at is not None))]
    active = {run.kind for run in runs if run.ended_at is None}
    expected = describe_expectations(paths, active) if active else {}
    return "\n".join([*lines, *(f"  {text}" for text in expected.values())])


def format_run(run: "RunRecord") -> str:
    mark = _OUTCOME_MARKS.get(run.outcome, "✗")
    who = f"{run.task} · {run.agent}" if run.task else run.agent
    if run.ended_at is None:
        elapsed = run.elapsed + max(0.0, time.time() - run.changed_at)
        doing = ACTIVITY_LABELS.get(run.doing, run.doing)
        spent = f"{format_duration(elapsed)} · {format_money(run.cost_usd)}"
        facts = f"iteration {run.iteration}/{run.limit} · {spent} · {doing}"
        if find_run_liveness(run) == "unknown":
            silence = format_duration(max(0.0, time.time() - find_last_sign(run)))
            return f"? {run.id}  unknown  {who} · {facts} · last sign of life {silence} ago, {describe_place(run)}"
        return f"{mark} {run.id}  running  {who} · {facts} · pid {run.pid}"
    used = f"{run.iteration}/{run.limit} iterations · {format_duration(run.elapsed)} · {format_money(run.cost_usd)}"
    return f"{mark} {run.id}  {run.outcome}  {who} · {used} · {run.why}"


def render_runs_json(runs: "Sequence[RunRecord]") -> str:
    return msgspec.json.encode({"runs": [run_to_dict(run) for run in runs]}).decode()


def run_to_dict(run: "RunRecord") -> dict[str, object]:
    active = run.ended_at is None
    return {
        "id": run.id,
        "kind": run.kind,
        "active": active,
        "agent": run.agent,
        "folder": run.folder,
        "task": run.task,
        "parent": run.parent,
        "iteration": run.iteration,
        "limit": run.limit,
        "elapsed": round(run.elapsed + (max(0.0, time.time() - run.changed_at) if active else 0.0), 3),
        "costUsd": run.cost_usd,
        "doing": run.doing if active else None,
        "outcome": run.outcome,
        "why": run.why,
        "startedAt": run.started_at,
        "endedAt": run.ended_at,
        "pid": run.pid if active else None,
        "liveness": find_run_liveness(run) if active else None,
    }
