"""The words and names of a guardrail: its log's name and what its failure tells the agent."""

import re
from collections.abc import Sequence

from ralph.core.prompt import truncate_text
from ralph.core.text.secrets import redact
from ralph.model.loop import Feedback, GateResult
from ralph.model.ports import GateOptions

MAX_LOG_SLUG_CHARS = 50
MAX_REASON_CHARS = 500
_NON_WORD = re.compile(r"[^A-Za-z0-9]+")


def slugify_command(command: str) -> str:
    """A file name's worth of a command, secrets left out."""
    return _NON_WORD.sub("_", redact(command)).strip("_")[:MAX_LOG_SLUG_CHARS].rstrip("_") or "guardrail"


def slugify_commands(commands: Sequence[str]) -> tuple[str, ...]:
    """One slug a command; the second and later ones of the same name get _1, _2, …"""
    taken: set[str] = set()
    found = []
    for plain in map(slugify_command, commands):
        name, count = plain, 0
        while name in taken:
            count += 1
            name = f"{plain}_{count}"
        taken.add(name)
        found.append(name)
    return tuple(found)


def format_log_name(iteration: int, name: str) -> str:
    """Where the output of one check is kept, below `.ralph/`."""
    return f"guardrail_{iteration:03}_{name}.log"


def render_failure(command: str, exit_code: int, *, hint: str, log: str, output: str, limit: int) -> str:
    """What the next prompt says about a guardrail that did not pass; `log` is empty where there is none."""
    lines = [f'Guardrail "{command}" failed with exit code {exit_code}.']
    if hint:
        lines.append(f"Hint: {hint}")
    if log:
        lines.append(f"Output file: {log}")
    lines += ["Output (truncated):", truncate_text(output, limit)]
    return "\n".join(lines)


def build_gate_result(title: str, problems: Sequence[str], options: GateOptions) -> GateResult:
    """What a check that runs no command found: it passed when there is no problem."""
    if not problems:
        return GateResult(gate=title, passed=True)
    message = render_failure(
        title, 1, hint=options.hint, log="", output="\n".join(problems), limit=options.output_limit
    )
    return GateResult(
        gate=title,
        passed=False,
        exit_code=1,
        reason="; ".join(problems)[:MAX_REASON_CHARS],
        feedback=Feedback(message, options.action),
    )
