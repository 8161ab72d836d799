"""A task as a page: all there is to tell about it, or JSON."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from ralph.core.tasks.task_rules import FAILURE_KEY, SEND_BACKS_KEY
from ralph.core.text.plain import sanitize
from ralph.core.text.quantities import format_duration, format_money, pluralize
from ralph.model.board import Entry
from ralph.model.spec import ROLES, CompletionCriteria, Task, VerificationAttempt

if TYPE_CHECKING:
    from ralph.app.board.tasks import TaskDetails
    from ralph.app.pipeline.stages import IterationLimit


def task_to_dict(entry: Entry) -> dict[str, object]:
    """One task as a dict for JSON; its keys are those of the specifications."""
    task = entry.task
    spec = task.completion_spec
    return {
        **msgspec.structs.asdict(task),
        "completion_spec": spec.to_dict() if spec else None,
        "worker": entry.worker or None,
        "passed": entry.passed,
        "branch": entry.branch or None,
        "target": entry.target or None,
    }


def render_task_json(shown: "TaskDetails") -> str:
    criteria = {role: found.criteria.to_dict() for role, found in shown.criteria.items()}
    return msgspec.json.encode(
        {
            "task": task_to_dict(shown.entry),
            "criteria": criteria,
            "limits": shown.limits,
            "attempts": [msgspec.structs.asdict(attempt) for attempt in shown.attempts],
            "iterations": shown.log,
            "spent": shown.spent,
        }
    ).decode()


def render_task_text(shown: "TaskDetails") -> str:
    task = shown.entry.task
    lines = [f"{task.id}  {task.title}", f"  {_format_facts(shown.entry)}"]
    if task.description:
        lines += ["", *_indent_lines(task.description)]
    lines += ["", *_render_completion(task)]
    for role in ROLES:
        own = task.completion_spec is not None and task.completion_spec.get_criteria_for_agent(role) is not None
        lines += ["", *_render_criteria(role, shown.criteria[role].criteria, shown.limits[role], own)]
    lines += _render_history(task.metadata)
    if shown.attempts:
        lines += [
            "",
            "Verification attempts",
            *(line for attempt in shown.attempts for line in _render_attempt(attempt)),
        ]
    if shown.log:
        lines += ["", "Iterations", *map(_format_iteration, shown.log)]
    if shown.spent.cost_usd is not None or shown.log:
        lines += ["", f"Spent {format_money(shown.spent.cost_usd)} in {pluralize(len(shown.log), 'iteration')}"]
    return sanitize("\n".join(lines))


def _format_facts(entry: Entry) -> str:
    task = entry.task
    state = task.status.replace("_", " ") + (f" ({task.stage}, iteration {task.iteration})" if entry.worker else "")
    parts = [f"spec {task.spec_id}", f"priority {task.priority}", state]
    parts += [f"needs {', '.join(task.depends_on)}"] if task.depends_on else []
    parts += [f"passed {', '.join(entry.passed)}"] if entry.passed else []
    parts += [f"branch {entry.branch}"] if entry.branch else []
    parts += [f"for {task.assignee}"] if task.assignee else []
    parts += [f"setup {task.setup}"] if task.setup else []
    return " · ".join(parts)


def _render_completion(task: Task) -> list[str]:
    spec = task.completion_spec
    if spec is None:
        return [
            "No completion criteria: it is judged by its title and description alone.",
            f"  → ralph task edit {task.id} --outcome TEXT --acceptance TEXT",
        ]
    return [
        "Outcome",
        *_indent_lines(spec.outcome),
        "",
        "Acceptance criteria",
        *(f"  - [ ] {c}" for c in spec.acceptance_criteria),
    ]


def _render_criteria(role: str, criteria: CompletionCriteria, limit: "IterationLimit", own: bool) -> list[str]:
    most = f"at most {pluralize(limit.iterations, 'iteration')} ({limit.why})"
    default = "" if own else " (default)"
    head = f"{role}: {criteria.promise}{default} · verified by {criteria.verification_method.value} · {most}"
    return [head, *_indent_lines(criteria.description), *_render_config(criteria.verification_config)]


def _render_config(config: Mapping[str, object]) -> list[str]:
    lines: list[str] = []
    for key, value in config.items():
        if isinstance(value, str):
            first, *more = value.rstrip().split("\n")
            lines += [f"    {key}: {first}", *(f"      {line}" for line in more)]
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            lines += [f"    {key}:", *(f"      - {item}" for item in value)]
        elif isinstance(value, list):
            lines += [f"    {key}:", *(f"      - {msgspec.json.encode(item).decode()}" for item in value)]
        else:
            lines.append(f"    {key}: {msgspec.json.encode(value).decode()}")
    return lines


def _render_history(metadata: Mapping[str, object]) -> list[str]:
    """Failures, changes sent back, and why it is blocked or cancelled, as far as its metadata holds them."""
    lines: list[str] = []
    if isinstance(failure := metadata.get(FAILURE_KEY), dict):
        used = f"{failure.get('stage')}, {pluralize(failure.get('iterations_used', 0), 'iteration')}"
        lines += ["", f"Last failure ({used}): {failure.get('reason')}"]
    sent_back = metadata.get(SEND_BACKS_KEY)
    for back in sent_back if isinstance(sent_back, list) else ():
        lines += ["", f"Sent back by {back.get('stage')} at {back.get('at')}", *_indent_lines(str(back.get("changes")))]
    for key in ("blocked", "cancelled"):
        if isinstance(why := metadata.get(key), dict) and why.get("reason"):
            lines += ["", f"{key.capitalize()}: {why['reason']}"]
    if isinstance(parent := metadata.get("followup_of"), str):
        lines += ["", f"Follows up {parent}"]
    return lines


def _render_attempt(attempt: VerificationAttempt) -> list[str]:
    mark = "✓" if attempt.verified else "✗" if attempt.promise_found else "·"
    who = f"{attempt.agent} {attempt.iteration or 'by hand'}"
    line = f"  {mark} {who}  {attempt.timestamp}  {attempt.method or '—'}: {attempt.reason}"
    facts = [f"output {attempt.digest[:12]}"] if attempt.digest else []
    facts += {True: ["red before"], False: ["regression only"], None: []}[attempt.red_before]
    facts += [f"judged by {attempt.judge}"] if attempt.judge else []
    facts += ["by words only"] if attempt.by_words else []
    return [line + (f"  ({', '.join(facts)})" if facts else ""), *(f"      {note}" for note in attempt.notes)]


def _format_iteration(record: Mapping[str, object]) -> str:
    """One line of the execution log: how it ended, and why its stage was, or was not, complete with it."""
    cost, took = record["cost_usd"], record["duration_ms"]
    reason = str(record["reason"]).partition("\n")[0]
    turn = f" {record['ralph_iteration']}/{record['ralph_max']}" if record["ralph_max"] else ""  # to resolve a conflict
    parts = [
        f"{record['stage']}{turn}  {record['outcome'] or 'ended'}",
        reason or ("promised" if record["promise_found"] else "no promise"),
        format_duration(took / 1000 if isinstance(took, int) else 0.0, tenths=True),
        *([format_money(cost)] if isinstance(cost, float) else []),
    ]
    return f"  {' · '.join(parts)}"


def _indent_lines(text: str) -> list[str]:
    return [f"  {line}" for line in text.strip().split("\n")]
