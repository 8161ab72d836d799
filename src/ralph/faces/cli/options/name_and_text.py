"""A name and a text on the command line, of which the name may be left out: `ralph note TASK-1 "Keep it short"`."""

from collections.abc import Callable, Sequence

from ralph.faces.cli.options.text_file import STDIN_NAME, TextFile
from ralph.model.errors import UsageError


def read_name_and_text(words: Sequence[str], usage: str, is_name: Callable[[str], bool]) -> tuple[str, str]:
    """The name, empty for what is running, and the text. `is_name`: whether a word stands for a run or a task: who
    typed only that forgot the text."""
    if not words or (len(words) == 1 and words[0] != STDIN_NAME and is_name(words[0])):
        raise UsageError("there is no text", f"usage: {usage}")
    name, text = (words[0], " ".join(words[1:])) if len(words) > 1 else ("", words[0])
    return name, TextFile(text).read_text() if text == STDIN_NAME else text
