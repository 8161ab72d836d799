"""What `ralph status` shows. Without click: people call this often, and it answers in the blink of an eye."""

import os
import sys
import time
from typing import TYPE_CHECKING

import msgspec

from ralph.app.board.run_overview import list_latest_titled, list_runs_everywhere
from ralph.app.paths import find_project_paths
from ralph.app.runs.recovery import LOST_REASON, find_last_sign, find_run_liveness
from ralph.app.runs.status import (
    count_unrecorded_runs,
    describe_expectations,
    describe_place,
    name_resume_command,
)
from ralph.core.text.plain import one_line
from ralph.core.text.quantities import format_cost, format_duration, pluralize
from ralph.faces.activity_labels import ACTIVITY_LABELS
from ralph.faces.check_words import shorten_agent
from ralph.faces.cli.terminal.wrapping import fit_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph.app.board.run_lists import TitledRun
    from ralph.app.board.run_overview import RepositoryRuns
    from ralph.app.paths import Paths
    from ralph.model.runs import RunRecord

PAUSED_STATE = "pause"  # what a paused run does
_OUTCOME_MARKS = {"completed": "✓", "interrupted": "‖", None: "●"}
MAX_SUBJECT_CELLS = 100
MAX_QUESTION_CELLS = 200


def render_status(as_json: bool, last: int = 5) -> str:
    """The newest `last` runs of this repository, active ones first; text or JSON."""
    paths = find_project_paths(os.getcwd())
    found = list_latest_titled(paths, last)
    if as_json:
        return msgspec.json.encode({"runs": [run_to_dict(each.record, each.title) for each in found]}).decode()
    if not found and (lost := count_unrecorded_runs(paths)):
        return (
            f"No runs on record, but {pluralize(lost, 'run')} on disk: {paths.database} was deleted or emptied.\n"
            f"Their logs are in {os.path.dirname(paths.run_dir('x'))}; they cannot be resumed. Start a new run with"
            " `ralph run -p PROMPT`."
        )
    if not found:
        return "No runs here yet. Start one with `ralph run -p PROMPT`."
    active = {each.record.kind for each in found if each.record.ended_at is None}
    expected = describe_expectations(paths, active) if active else {}
    lines = [*_render_runs(found), *(f"  {text}" for text in expected.values()), *_suggest_resuming(found, paths)]
    return fit_page("\n".join(lines), sys.stdout)


def _suggest_resuming(runs: "Sequence[TitledRun]", paths: "Paths") -> list[str]:
    """Where the last run was cut off and nothing is under way; those of a repository this is a copy of stay there."""
    newest = runs[0].record
    is_ours = f"{newest.folder}/".startswith(f"{paths.main_root}/")
    is_cut_off = newest.why == LOST_REASON or (newest.outcome == "interrupted" and newest.kind != "execute")
    if not (is_ours and is_cut_off) or any(each.record.ended_at is None for each in runs):
        return []
    return [f"  → Resume with: {name_resume_command(newest)}"]


def render_status_everywhere(as_json: bool, last: int) -> str:
    """The same of every repository ralph ran in on this machine, under the folder of each."""
    found = list_runs_everywhere(os.environ, find_project_paths(os.getcwd()), last)
    if as_json:
        runs = [
            {**run_to_dict(each.record, each.title), "repository": place.root} for place in found for each in place.runs
        ]
        problems = [{"repository": place.root, "problem": place.problem} for place in found if place.problem]
        return msgspec.json.encode({"runs": runs, "problems": problems}).decode()
    if not found:
        return "No runs on this machine yet. Start one with `ralph run -p PROMPT`."
    pages = ("\n".join([_shorten_home(place.root), *_render_place(place)]) for place in found)
    return fit_page("\n\n".join(pages), sys.stdout)


def _render_place(place: "RepositoryRuns") -> list[str]:
    if place.problem:
        return [f"  ! cannot be read: {place.problem}"]
    return [f"  {line}" for line in _render_runs(place.runs)]


def _shorten_home(path: str) -> str:
    home = os.environ.get("HOME", "")
    return f"~{path[len(home) :]}" if len(home) > 1 and path.startswith(f"{home}/") else path


def _render_runs(runs: "Sequence[TitledRun]") -> list[str]:
    ordered = sorted(runs, key=lambda each: each.record.ended_at is not None)
    return [line for each in ordered for line in format_run(each.record, each.title, each.estimated_usd, each.unpriced)]


def format_run(run: "RunRecord", title: str, estimated_usd: float = 0.0, unpriced: int = 0) -> list[str]:
    """What it is about, below that what it came to, and the question of its agent, where it has one."""
    lines = [f"{_choose_mark(run)} {run.id}  {_describe_state(run)}  {_describe_subject(run, title)}"]
    cost = format_cost(run.cost_usd, estimated_usd, unpriced=unpriced)
    lines.append(f"    {' · '.join(_list_facts(run, cost))}")
    if run.question:
        answer = f"ralph answer {run.task if run.kind == 'execute' else run.id} TEXT"
        lines.append(f"    asks: {one_line(run.question, MAX_QUESTION_CELLS)}  → {answer}")
    return lines


def _choose_mark(run: "RunRecord") -> str:
    if run.ended_at is None and find_run_liveness(run) == "unknown":
        return "?"
    return _OUTCOME_MARKS.get(run.outcome, "✗")


def _describe_state(run: "RunRecord") -> str:
    if run.ended_at is not None:
        return (run.outcome or "ended").replace("_", " ")
    return "unknown" if find_run_liveness(run) == "unknown" else "paused" if run.doing == PAUSED_STATE else "running"


def _describe_subject(run: "RunRecord", title: str) -> str:
    words = " ".join(filter(None, (run.task, title)))
    return one_line(words, MAX_SUBJECT_CELLS) or run.kind


def _list_facts(run: "RunRecord", cost: str) -> list[str]:
    agent, is_task = shorten_agent(run.agent), run.kind == "execute"  # whose limit is the sum of its stages
    began = f"began {_format_moment(run.started_at)}"
    if run.ended_at is not None:
        used = pluralize(run.iteration, "iteration") if is_task else f"{run.iteration}/{run.limit} iterations"
        return [agent, used, format_duration(run.elapsed), cost, began, run.why or ""]
    used = f"iteration {run.iteration}" if is_task else f"iteration {run.iteration}/{run.limit}"
    facts = [agent, used, format_duration(_measure_elapsed(run)), cost]
    doing = ACTIVITY_LABELS.get(run.doing, run.doing)
    if run.wakes_at is not None:
        doing += f" until {_format_moment(run.wakes_at)}; `ralph resume` tries at once"
    if run.paused_by:
        doing = (
            f"{doing} by {run.paused_by}" if run.doing == PAUSED_STATE else f"{doing}, then paused by {run.paused_by}"
        )
    if find_run_liveness(run) == "unknown":
        silence = format_duration(max(0.0, time.time() - find_last_sign(run)))
        return [*facts, began, doing, f"last sign of life {silence} ago, {describe_place(run)}"]
    return [*facts, began, doing, f"pid {run.pid}"]


def _format_moment(at: float) -> str:
    """The hour, with its day where that is another one than today."""
    then, today = time.localtime(at), time.localtime()
    return time.strftime("%H:%M" if then[:3] == today[:3] else "%Y-%m-%d %H:%M", then)


def _measure_elapsed(run: "RunRecord") -> float:
    """The clock stands still while it is paused."""
    is_ticking = run.ended_at is None and run.doing != PAUSED_STATE
    return run.elapsed + (max(0.0, time.time() - run.changed_at) if is_ticking else 0.0)


def render_runs_json(runs: "Sequence[RunRecord]") -> str:
    return msgspec.json.encode({"runs": [run_to_dict(run) for run in runs]}).decode()


def run_to_dict(run: "RunRecord", title: str = "") -> dict[str, object]:
    active = run.ended_at is None
    return {
        "id": run.id,
        "title": title,
        "kind": run.kind,
        "active": active,
        "agent": run.agent,
        "folder": run.folder,
        "task": run.task,
        "parent": run.parent,
        "iteration": run.iteration,
        "limit": run.limit,
        "elapsed": round(_measure_elapsed(run), 3),
        "costUsd": run.cost_usd,
        "doing": run.doing if active else None,
        "wakesAt": run.wakes_at if active else None,
        "pausedBy": run.paused_by or None,
        "question": run.question or None,
        "outcome": run.outcome,
        "why": run.why,
        "startedAt": run.started_at,
        "endedAt": run.ended_at,
        "pid": run.pid if active else None,
        "liveness": find_run_liveness(run) if active else None,
    }
