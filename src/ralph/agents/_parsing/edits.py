"""What an agent's edit changes, read from the input of its tool: lines added and removed, and a few of them."""

from typing import Any

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from ralph.agents._parsing.ndjson import DECODE_ERRORS
from ralph.model.events import FileEdit

MAX_HUNK_LINES = 20  # lines told of an edit; how many are shown is a setting
MAX_HUNK_LINE_CHARS = 200
MAX_COMPARED_LINES = 200  # longer texts are told as removed and added as a whole
_EDIT_TOOLS = frozenset(
    "edit multiedit notebookedit edit_file replace str_replace str_replace_editor str_replace_based_edit_tool".split()
)
_WRITE_TOOLS = frozenset("write write_file create_file create".split())
_PATCH_TOOLS = frozenset(("apply_patch", "patch"))
_PATCH_HEADS = ("+++ ", "--- ", "*** ")


class _Replacement(Struct, frozen=True, gc=False, kw_only=True):
    """Any type: a stranger's tool may use the same word for something else."""

    old_string: Any = None
    old_str: Any = None
    old_camel: Any = field(default=None, name="oldString")
    new_string: Any = None
    new_str: Any = None
    new_camel: Any = field(default=None, name="newString")
    new_source: Any = None

    @property
    def texts(self) -> tuple[str, str]:
        old = (self.old_string, self.old_str, self.old_camel)
        new = (self.new_string, self.new_str, self.new_camel, self.new_source)
        return _choose_text(*old), _choose_text(*new)


class _EditInput(_Replacement, frozen=True, gc=False, kw_only=True):
    edits: Any = None
    content: Any = None
    file_text: Any = None
    patch: Any = None
    patch_text: Any = field(default=None, name="patchText")
    input: Any = None


_EDIT_DECODER = Decoder(_EditInput)
_REPLACEMENTS_DECODER = Decoder(list[_Replacement])


class _EditsInput(Struct, frozen=True, gc=False):
    edits: Raw = Raw(b"[]")


_EDITS_DECODER = Decoder(_EditsInput)


def describe_edit(tool: str, given: Raw) -> FileEdit | None:
    """None for a tool that edits nothing, and for an input nobody understands."""
    name = tool.lower()
    if name not in _EDIT_TOOLS and name not in _WRITE_TOOLS and name not in _PATCH_TOOLS:
        return None
    try:
        told = _EDIT_DECODER.decode(given)
        several = _REPLACEMENTS_DECODER.decode(_EDITS_DECODER.decode(given).edits) if told.edits else []
    except DECODE_ERRORS:
        return None
    if name in _PATCH_TOOLS:
        return _read_patch(_choose_text(told.patch, told.patch_text, told.input))
    if name in _WRITE_TOOLS or (told.file_text and not told.old_str):
        return _describe_whole(_choose_text(told.content, told.file_text))
    return _compare(*(each.texts for each in several or [told]))


def _choose_text(*values: object) -> str:
    return next((value for value in values if value and isinstance(value, str)), "")


def _describe_whole(content: str) -> FileEdit | None:
    lines = content.splitlines()
    return FileEdit(added=len(lines), hunk=_join_hunk([f" {line}" for line in lines]), whole=True) if lines else None


def _read_patch(patch: str) -> FileEdit | None:
    lines = [line for line in patch.splitlines() if line[:1] in ("+", "-") and not line.startswith(_PATCH_HEADS)]
    return _sum_up(lines)


def _compare(*pairs: tuple[str, str]) -> FileEdit | None:
    return _sum_up([line for old, new in pairs for line in _list_changes(old.splitlines(), new.splitlines())])


def _list_changes(old: list[str], new: list[str]) -> list[str]:
    """Lines with - and +, in the order of the text, without what both have."""
    if len(old) + len(new) > MAX_COMPARED_LINES:
        return [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    from difflib import SequenceMatcher  # 2 ms; many runs show no edit

    changes: list[str] = []
    for kind, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            changes += [f"-{line}" for line in old[old_start:old_end]]
            changes += [f"+{line}" for line in new[new_start:new_end]]
    return changes


def _sum_up(changes: list[str]) -> FileEdit | None:
    if not changes:
        return None
    added = sum(line[0] == "+" for line in changes)
    return FileEdit(added=added, removed=len(changes) - added, hunk=_join_hunk(changes))


def _join_hunk(lines: list[str]) -> str:
    return "\n".join(line[:MAX_HUNK_LINE_CHARS] for line in lines[:MAX_HUNK_LINES])
