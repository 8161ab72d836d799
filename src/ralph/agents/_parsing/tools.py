"""A tool call as the watcher sees it: what it is about, and what came out; and the calls a parser remembers."""

import re
import shlex
from functools import lru_cache
from itertools import islice
from typing import Any

from msgspec import Raw, Struct, defstruct
from msgspec.json import Decoder
from msgspec.structs import astuple

from ralph.agents._parsing.ndjson import DECODE_ERRORS
from ralph.model.events import ToolEnded

MAX_REMEMBERED_CALLS = 1_000  # calls open at one time; nobody has so many
MAX_TOOL_TEXT_CHARS = 2_000  # characters of a tool's input or output in an event
SUMMARY_CHARS = 300  # characters at the end of an output in which tests and builds sum up
_SHELL_START = re.compile(r"(?:/\S*/)?(?:ba|z|da)?sh -l?c ")
_SUMMARY_AT_END = re.compile(
    r"\b\d+ (?:passed|failed|passing|failing|errors?|tests?|problems?|examples?)\b|^(?:OK|FAILED)\b|^test result: "
    r"|^Tests?:? |^make(?:\[\d+\])?: \*\*\* |\bBUILD (?:FAILED|SUCCESS)|^(?:ok|FAIL)\s+\S+\s+[\d.(]|^npm (?:ERR|error)",
    re.MULTILINE,
)

_PATH_FIELDS = ("file_path", "path", "filePath", "notebook_path", "absolute_path", "dir_path")
_SUMMARY_FIELDS = {
    "read write edit multiedit notebookedit ls list": _PATH_FIELDS,
    "read_file write_file edit_file create_file undo_edit replace list_directory read_many_files": _PATH_FIELDS,
    "create view str_replace str_replace_editor str_replace_based_edit_tool": _PATH_FIELDS,
    "bash shell run_shell_command": ("command", "cmd", "description"),
    "grep glob search_file_content codebase_search": ("pattern", "query", "path"),
    "websearch web_search google_web_search": ("query", "prompt"),
    "webfetch web_fetch read_web_page": ("url", "prompt"),
    "task agent oracle": ("description", "prompt"),
    "skill": ("skill",),
}


class BoundedDict(dict[str, str]):
    """Calls by their id. Forgets the older half when it is full, so that endless ones cost no more memory."""

    def remember(self, call: str, what: str = "") -> None:
        if len(self) >= MAX_REMEMBERED_CALLS:
            for old in list(
                islice(self, MAX_REMEMBERED_CALLS // 2)
            ):  # many at once: finding the first among gaps takes time
                del self[old]
        self[call] = what


@lru_cache(maxsize=200)  # agents have few tools, and call them often
def _build_decoder(tool: str) -> Decoder[Struct] | None:
    """Reads what names what a tool works on. Any type: a stranger's tool may use the same word for something else."""
    for names, fields in _SUMMARY_FIELDS.items():
        if tool.lower() in names.split():
            return Decoder(defstruct("Input", [(name, Any, None) for name in fields], gc=False))
    return None


def summarize_input(tool: str, given: Raw) -> str:
    """The path, the command, the pattern: empty for a tool we do not know."""
    reader = _build_decoder(tool)
    if reader is None:
        return ""
    try:
        fields = reader.decode(given)
    except DECODE_ERRORS:
        return ""
    for value in astuple(fields):
        if value and isinstance(value, str):
            return value[:MAX_TOOL_TEXT_CHARS]
    return ""


class _ShellInput(Struct, frozen=True, gc=False):
    command: Any = None


_SHELL_INPUT_DECODER = Decoder(_ShellInput)


def read_command(given: Raw) -> str:
    """The shell command of a tool's input; empty where there is none."""
    try:
        command = _SHELL_INPUT_DECODER.decode(given).command
    except DECODE_ERRORS:
        return ""
    return command[:MAX_TOOL_TEXT_CHARS] if isinstance(command, str) else ""


def unwrap_shell(command: str) -> str:
    """/bin/bash -lc 'make test' → make test: what the agent meant, without how it was started."""
    if not _SHELL_START.match(command):
        return command
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 else command


def build_tool_ended(call: str, output: str, error: str | None = None, nested: bool = False) -> ToolEnded:
    """Cut for showing, counted in full. Of tests and builds the end tells most, of all else the beginning."""
    lines = output.count("\n")
    if output and output[-1] != "\n":
        lines += 1
    from_end = lines > 3 and _SUMMARY_AT_END.search(output, max(0, len(output) - SUMMARY_CHARS)) is not None
    return ToolEnded(
        id=call,
        output="" if error == output else _cut(output, from_end),
        error=error and _cut(error, from_end),
        lines=lines,
        chars=len(output),
        nested=nested,
        from_end=from_end,
    )


def _cut(text: str, from_end: bool) -> str:
    return text[-MAX_TOOL_TEXT_CHARS:] if from_end else text[:MAX_TOOL_TEXT_CHARS]


def describe_exit(code: int, output: str) -> str:
    """The error of a shell command, in one line when it can be."""
    return f"exit code {code}: {output.strip()}".removesuffix(": ")
