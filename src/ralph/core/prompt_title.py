"""What a prompt is about, in one line."""

import re

from ralph.core.text.plain import one_line
from ralph.core.text.secrets import redact

MAX_TITLE_CELLS = 200
MAX_PROMPT_HEAD_CHARS = 4000  # its first line is among them
_HEADING_MARKS = re.compile(r"^#{1,6}\s+")


def take_prompt_title(prompt: str) -> str:
    """The first line that says something, without the marks of a heading and without secrets."""
    line = next((line for line in prompt[:MAX_PROMPT_HEAD_CHARS].splitlines() if line.strip(" \t#-=*")), "")
    return one_line(redact(_HEADING_MARKS.sub("", line.strip())), MAX_TITLE_CELLS)
