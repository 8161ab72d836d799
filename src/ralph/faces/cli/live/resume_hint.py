"""The last line of a story loop or a supervised task that did not complete: what to type next."""

import sys

from ralph.faces.cli.terminal.output import Output
from ralph.faces.cli.terminal.wrapping import fit_page
from ralph.model.loop import Stop


def print_resume_hint(stop: Stop, *, limit_option: str, unblock: str) -> None:
    """On stderr; nothing where the same command would end the same way."""
    if hint := describe_resume_hint(stop, limit_option, unblock):
        Output.for_stream(sys.stderr)(fit_page(f"  → {hint}\n", sys.stderr))


def describe_resume_hint(stop: Stop, limit_option: str, unblock: str) -> str:
    """`unblock`: what a person does about a loop that waits for one."""
    if stop.lasting:
        return ""
    match stop.outcome.value:
        case "completed" | "unusable":
            return ""
        case "blocked" if stop.question:
            return "answer with: ralph answer TEXT; then run the same command again"
        case "blocked":
            return f"{unblock}, then run the same command again"
        case "exhausted":
            return f"resume with the same command and a higher {limit_option} or --max-time"
        case "over_budget":
            return "resume with the same command and a higher --budget"
        case _:
            return "resume with the same command"
