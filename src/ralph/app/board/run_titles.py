"""What a run is about, in one line: the first line of its prompt, the folder of its stories, its task."""

import os

import msgspec
from msgspec import Struct

from ralph.core.prompt_title import take_prompt_title
from ralph.process.atomic_file import read_regular_file

MAX_PROMPT_FILE_CHARS = 1 << 20


class _StoredPlace(Struct):
    project: str = ""
    folder: str = ""


class _StoredStart(Struct, kw_only=True):
    """Of what a run began with, as much as its title needs."""

    prompt: str | None = None
    prompt_file: str | None = None
    title: str = ""
    place: _StoredPlace | None = None


def describe_request(kind: str, request: bytes, task: str) -> str:
    """Empty where nothing is known of it."""
    try:
        start = msgspec.json.decode(request, type=_StoredStart)
    except (msgspec.MsgspecError, RecursionError):
        return task
    if kind == "run":
        return start.title or _describe_prompt(start)
    if kind == "story" and start.place is not None:
        return f"stories of {os.path.relpath(start.place.folder, start.place.project or '/')}"
    return task


def _describe_prompt(start: _StoredStart) -> str:
    if start.prompt_file is None:
        return take_prompt_title(start.prompt or "")
    try:
        text = read_regular_file(start.prompt_file, MAX_PROMPT_FILE_CHARS)
    except OSError:
        text = ""
    return take_prompt_title(text) or os.path.basename(start.prompt_file)
