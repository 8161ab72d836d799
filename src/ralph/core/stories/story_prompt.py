"""prompt.md, with its variables filled in and what this iteration is about."""

from ralph.core.stories.review import parse_story_file
from ralph.core.text.plain import one_line
from ralph.core.text.questions import QUESTION_LINE
from ralph.model.loop import Brief

MAX_TITLE_CHARS = 300


def render_story_prompt(template: str, brief: Brief) -> str:
    """What the agent of one iteration reads."""
    text = template
    for name, value in (("RALPH_ITERATION", brief.iteration), ("RALPH_MAX_ITERATIONS", brief.limit)):
        text = text.replace(f"{{{{{name}}}}}", str(value))
    title = next((story.title for story in parse_story_file(brief.tasks).stories if story.id == brief.story), "")
    about = f"Mode: {brief.role}. Story: {brief.story} - {one_line(title, MAX_TITLE_CHARS)}"
    parts = [text.rstrip(), f"## This iteration\n\n{about}\n\n{QUESTION_LINE}"]
    if brief.feedback:
        notes = "\n".join(f"- {item.text}" for item in brief.feedback)
        parts.append(f"## From the runner\n\nAbout the last iteration:\n\n{notes}")
    if brief.changes:
        parts.append(f"## About the tests\n\n{brief.changes}")
    return "\n\n".join(parts) + "\n"
