"""Base text, feedback and iteration line → the prompt."""

import re
from collections.abc import Sequence

from ralph.model.loop import Brief, FailAction, Feedback

TRUNCATION_MARK = "... [truncated]"


def compose_prompt(base: str, brief: Brief, *, count_iterations: bool) -> str:
    text = add_feedback(base, brief.feedback)
    return f"{render_iteration_line(brief.iteration, brief.limit)}\n\n{text}" if count_iterations else text


def add_feedback(base: str, feedback: Sequence[Feedback]) -> str:
    """Replacements take the place of the base, all of them; the others stand before and behind in their order."""

    def texts(action: FailAction) -> list[str]:
        return [item.text for item in feedback if item.action == action]

    return "\n\n".join([*texts("PREPEND"), *(texts("REPLACE") or [base]), *texts("APPEND")])


def render_iteration_line(iteration: int, limit: int) -> str:
    """Where in the run this prompt stands."""
    return f"Iteration {iteration} of {limit}, {max(0, limit - iteration)} remaining."


def add_completion_line(prompt: str, line: str) -> str:
    """The prompt with that line at its end, as a paragraph of its own."""
    return f"{prompt.rstrip()}\n\n{line}" if line else prompt


def find_completion_line(prompt: str, signals: Sequence[str], expected: str) -> str:
    """How to claim completion, in a sentence for the agent; empty when the prompt names one of the signals."""
    if any(_names_signal(prompt, signal, expected) for signal in signals):
        return ""
    match signals[0].partition(":"):
        case "file", _, path:
            return f"When everything is done, create the file {path}."
        case "promise", _, _:
            tag = f"<promise>{expected}</promise>"
            return f"When everything is done, end your answer with {tag}, alone on the last line."
        case _:
            return f"When everything is done, end your answer with <response>{expected}</response>."


def _names_signal(prompt: str, signal: str, expected: str) -> bool:
    """Whether the tag is in it with its text, or the file as a name of its own."""
    text = re.escape(signal[5:] if signal.startswith("file:") else expected.strip())
    if signal.startswith("file:"):
        return bool(re.search(rf"(?<![\w/.-]){text}(?![\w/-])", prompt))
    return bool(re.search(rf"<{signal}>\s*{text}\s*</{signal}>", prompt, re.IGNORECASE))


def truncate_text(text: str, limit: int) -> str:
    """The first `limit` characters and a mark, only when something was cut. No limit: all of it."""
    return text if limit <= 0 or len(text) <= limit else text[:limit] + TRUNCATION_MARK
