"""What counts as a question to a person, and how notes and answers of people stand in a prompt."""

import re
from collections.abc import Sequence

from ralph.core.text.fences import classify_fenced_lines
from ralph.core.text.plain import one_line
from ralph.model.control import PersonNote
from ralph.model.loop import Reported

MAX_QUESTION_CHARS = 4000
MAX_SHOWN_QUESTION_CHARS = 300
QUESTION_LINE = "If only a person can decide, end your answer with <question>your question</question> instead."
_PLACEHOLDERS = ("", "...", "…", "your question")  # of who repeats the rule
_OPENING = re.compile(r"<question>", re.IGNORECASE)
_CLOSING = re.compile(r"</question>", re.IGNORECASE)


def find_question(reported: Reported) -> str:
    """What the agent asks a person; empty where it asks nothing, or did not come to its end."""
    return extract_question(reported.text) if reported.outcome in ("finished", "refused") else ""


def extract_question(text: str) -> str:
    """The question that the answer ends with, by the strict rule: its tag is the last thing that is said, and begins a
    line of its own, outside code fences, quotes and inline code."""
    lines = [*classify_fenced_lines(text.rstrip())]
    if not lines or not lines[-1][1] or not lines[-1][0].rstrip().casefold().endswith("</question>"):
        return ""
    for at in range(len(lines) - 1, -1, -1):
        line, said = lines[at]
        if said and (opening := _OPENING.match(line.strip())):
            body = [line.strip()[opening.end() :], *(inner for inner, _ in lines[at + 1 :])]
            return _close("\n".join(body).rstrip())
        if said and (_OPENING.search(line) or (at < len(lines) - 1 and _CLOSING.search(line))):
            return ""
    return ""


def describe_question(question: str) -> str:
    """In one line, for who reads how a run ended."""
    return f"the agent asks: {one_line(question, MAX_SHOWN_QUESTION_CHARS)}"


def render_notes(notes: Sequence[PersonNote]) -> str:
    """A heading for each, with who wrote it; empty for none."""
    return "\n\n".join(map(_render_note, notes))


def add_notes(prompt: str, notes: Sequence[PersonNote]) -> str:
    """The prompt with them at its end."""
    return f"{prompt.rstrip()}\n\n{render_notes(notes)}\n" if notes else prompt


def _render_note(note: PersonNote) -> str:
    who = note.by or "a person"
    if note.question:
        return f"## Answer from {who}\n\nYou asked: {note.question}\n\n{note.text}"
    return f"## Note from {who}\n\n{note.text}"


def _close(body: str) -> str:
    """What stands before the closing tag; empty where there is more than one."""
    content = body[: -len("</question>")].strip()
    if content.casefold() in _PLACEHOLDERS:
        return ""
    if _OPENING.search(content) or _CLOSING.search(content):
        return ""
    return content if len(content) <= MAX_QUESTION_CHARS else content[:MAX_QUESTION_CHARS] + " …"
