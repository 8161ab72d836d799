"""The words and names of a guardrail: its log's name and what its failure tells the agent."""

import re
from collections.abc import Sequence

from ralph.core.prompt import truncated
from ralph.core.text.secrets import hidden

SLUG_LENGTH = 50
_OTHER = re.compile(r"[^A-Za-z0-9]+")


def slug(command: str) -> str:
    """A file name's worth of a command, secrets left out."""
    return _OTHER.sub("_", hidden(command)).strip("_")[:SLUG_LENGTH].rstrip("_") or "guardrail"


def slugs(commands: Sequence[str]) -> tuple[str, ...]:
    """One slug a command; the second and later ones of the same name get _1, _2, …"""
    taken: set[str] = set()
    found = []
    for plain in map(slug, commands):
        name, count = plain, 0
        while name in taken:
            count += 1
            name = f"{plain}_{count}"
        taken.add(name)
        found.append(name)
    return tuple(found)


def log_name(iteration: int, name: str) -> str:
    """Where the output of one check is kept, below `.ralph/`."""
    return f"guardrail_{iteration:03}_{name}.log"


def failure(command: str, exit_code: int, hint: str, log: str, output: str, limit: int) -> str:
    """What the next prompt says about a guardrail that did not pass; `log` is empty where there is none."""
    lines = [f'Guardrail "{command}" failed with exit code {exit_code}.']
    if hint:
        lines.append(f"Hint: {hint}")
    if log:
        lines.append(f"Output file: {log}")
    lines += ["Output (truncated):", truncated(output, limit)]
    return "\n".join(lines)
