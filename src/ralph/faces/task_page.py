"""A task as a page: all there is to tell about it, or JSON."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from ralph.core.tasks.task_rules import FAILURE_KEY, SEND_BACKS_KEY
from ralph.core.text.check_output import take_last_lines
from ralph.core.text.plain import sanitize
from ralph.core.text.quantities import format_duration, format_money, pluralize
from ralph.faces.check_words import describe_check_failure, shorten_path
from ralph.faces.glyphs import UNICODE_GLYPHS, Glyphs
from ralph.model.board import Entry
from ralph.model.spec import ROLES, CompletionCriteria, Task, VerificationAttempt

if TYPE_CHECKING:
    from ralph.app.board.tasks import TaskDetails
    from ralph.app.pipeline.stages import IterationLimit

ROLE_CELLS = 10


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


def render_task_text(
    shown: "TaskDetails", *, glyphs: Glyphs = UNICODE_GLYPHS, folder: str = "", max_check_lines: int = 5
) -> str:
    """`folder`: where the reader is; paths below it are relative."""
    task = shown.entry.task
    lines = [f"{task.id}  {task.title}", f"  {_format_facts(shown.entry)}"]
    if task.description:
        lines += ["", *_indent_lines(task.description)]
    lines += ["", *_render_completion(task), *_render_proof(shown)]
    for role in ROLES:
        own = task.completion_spec is not None and task.completion_spec.get_criteria_for_agent(role) is not None
        lines += ["", *_render_criteria(role, shown.criteria[role].criteria, shown.limits[role], own)]
    lines += _render_history(task.metadata)
    if shown.attempts:
        lines += [
            "",
            "Verification attempts",
            *(
                line
                for attempt in shown.attempts
                for line in (
                    *_render_attempt(attempt, glyphs),
                    *_render_output(attempt, glyphs, folder, max_check_lines),
                )
            ),
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
        *(f"  - [{'x' if task.status == 'done' else ' '}] {c}" for c in spec.acceptance_criteria),
    ]


def _render_proof(shown: "TaskDetails") -> list[str]:
    """Of a task that is done: by what each stage was verified, and the commit."""
    task = shown.entry.task
    if task.status != "done":
        return []
    last = {attempt.agent: attempt for attempt in shown.attempts if attempt.verified}
    rows = [(role, _describe_proof(last[role])) for role in ROLES if role in last]
    lines = ["", "Verified by", *(f"  {role:<{ROLE_CELLS}}{text}" for role, text in rows)] if rows else []
    landed = task.metadata.get("landed")
    if isinstance(landed, dict) and landed.get("commit"):
        lines += ["", f"Merged into {landed.get('target') or 'the target'} as commit {landed['commit']}"]
    return lines


def _describe_proof(attempt: VerificationAttempt) -> str:
    """`make test` passed, failed before the work"""
    if attempt.by_words:
        return "the agent's words only"
    by = f"`{attempt.command}` passed" if attempt.command else attempt.reason
    facts = {True: ["failed before the work"], False: ["passed before the work: regression only"], None: []}[
        attempt.red_before
    ]
    facts += [f"judged by {attempt.judge}"] if attempt.judge else []
    return ", ".join([by, *facts])


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


def _render_attempt(attempt: VerificationAttempt, glyphs: Glyphs) -> list[str]:
    mark = glyphs.ok if attempt.verified else glyphs.bad if attempt.promise_found else glyphs.dot
    who = f"{attempt.agent} {attempt.iteration or 'manual'}"
    reason = describe_check_failure(attempt.command, attempt.reason)
    line = f"  {mark} {who}  {attempt.timestamp}  {attempt.method or glyphs.unknown}: {reason}"
    facts = {True: ["failed before the work"], False: ["passed before the work: regression only"], None: []}[
        attempt.red_before
    ]
    facts += [f"judged by {attempt.judge}"] if attempt.judge else []
    facts += ["by words only"] if attempt.by_words else []
    return [line + (f"  ({', '.join(facts)})" if facts else ""), *(f"      {note}" for note in attempt.notes)]


def _render_output(attempt: VerificationAttempt, glyphs: Glyphs, folder: str, most: int) -> list[str]:
    """Of a failure the last lines it printed, and where all of them are."""
    if attempt.verified:
        return []
    tail = take_last_lines(attempt.detail, most).splitlines() if most else []
    log = shorten_path(attempt.log, folder)
    below = [*tail, *([f"full output: {log}" if tail else log] if log else [])]
    blank = " " * len(glyphs.branch)
    return [f"    {glyphs.branch if at == 0 else blank}{line}" for at, line in enumerate(below)]


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
