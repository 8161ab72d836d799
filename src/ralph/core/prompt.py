"""Base text, feedback and iteration line → the prompt."""

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


def truncate_text(text: str, limit: int) -> str:
    """The first `limit` characters and a mark, only when something was cut. No limit: all of it."""
    return text if limit <= 0 or len(text) <= limit else text[:limit] + TRUNCATION_MARK
