"""A tool call as the watcher sees it: what it is about, and what came out."""

from typing import Any

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from ralph.agents._ndjson import UNDECODABLE
from ralph.model.events import ToolEnded

SHOWN = 2_000  # characters of a tool's input or output in an event


class _Input(Struct, frozen=True, gc=False):
    """Whatever names what a tool works on. Any type: a stranger's tool may use the same word for something else."""

    file_path: Any = None
    path: Any = None
    camel_path: Any = field(default=None, name="filePath")
    notebook_path: Any = None
    absolute_path: Any = None
    dir_path: Any = None
    command: Any = None
    cmd: Any = None
    description: Any = None
    pattern: Any = None
    query: Any = None
    url: Any = None
    prompt: Any = None
    skill: Any = None


_INPUT = Decoder(_Input)
_PATH = ("file_path", "path", "camel_path", "notebook_path", "absolute_path", "dir_path")
_SPEAKING = {
    "read write edit multiedit notebookedit ls list": _PATH,
    "read_file write_file edit_file create_file undo_edit replace list_directory read_many_files": _PATH,
    "bash shell run_shell_command": ("command", "cmd", "description"),
    "grep glob search_file_content codebase_search": ("pattern", "query", "path"),
    "websearch web_search google_web_search": ("query", "prompt"),
    "webfetch web_fetch read_web_page": ("url", "prompt"),
    "task agent oracle": ("description", "prompt"),
    "skill": ("skill",),
}
_FIELDS = {name: fields for names, fields in _SPEAKING.items() for name in names.split()}


def summary(tool: str, given: Raw) -> str:
    """The path, the command, the pattern: empty for a tool we do not know."""
    names = _FIELDS.get(tool.lower())
    if names is None:
        return ""
    try:
        fields = _INPUT.decode(given)
    except UNDECODABLE:
        return ""
    for name in names:
        value = getattr(fields, name)
        if value and isinstance(value, str):
            return value[:SHOWN]
    return ""


def ended(call: str, output: str, error: str | None = None, nested: bool = False) -> ToolEnded:
    """Cut for showing, counted in full."""
    lines = output.count("\n")
    if output and output[-1] != "\n":
        lines += 1
    shown = "" if error == output else output[:SHOWN]
    return ToolEnded(call, shown, error and error[:SHOWN], lines, len(output), nested)


def failed_with(code: int, output: str) -> str:
    """The error of a shell command, in one line when it can be."""
    return f"exit code {code}: {output.strip()}".removesuffix(": ")
