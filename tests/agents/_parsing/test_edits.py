"""What is told of an edit."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from ralph.agents._parsing.edits import MAX_HUNK_LINES, describe_edit
from ralph.model.events import FileEdit

ONE_LINE = FileEdit(added=1, removed=1, hunk="-    return a - b\n+    return a + b")
OLD, NEW = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"


def describe(tool: str, **given: object) -> FileEdit | None:
    return describe_edit(tool, Raw(msgspec.json.encode(given)))


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Edit", {"file_path": "calc.py", "old_string": OLD, "new_string": NEW}),  # Claude, Qwen, Gemini
        ("replace", {"file_path": "calc.py", "old_string": OLD, "new_string": NEW}),
        ("edit_file", {"path": "calc.py", "old_str": OLD, "new_str": NEW}),  # Amp
        ("edit", {"path": "calc.py", "old_str": OLD, "new_str": NEW}),  # Copilot
        ("edit", {"filePath": "calc.py", "oldString": OLD, "newString": NEW}),  # OpenCode
        ("MultiEdit", {"file_path": "calc.py", "edits": [{"old_string": OLD, "new_string": NEW}]}),
        ("apply_patch", {"patchText": "*** Begin Patch\n@@\n def add(a, b):\n-    return a - b\n+    return a + b\n"}),
    ],
)
def test_an_edit_is_counted_whoever_makes_it(tool: str, given: dict[str, object]) -> None:
    assert describe(tool, **given) == ONE_LINE


def test_several_edits_of_one_call_are_told_together() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d\ne"}]
    assert describe("MultiEdit", edits=edits) == FileEdit(added=3, removed=2, hunk="-a\n+b\n-c\n+d\n+e")


@pytest.mark.parametrize("field", ["content", "file_text"])
def test_of_a_written_file_only_its_length_is_known(field: str) -> None:
    assert describe("Write", **{field: "a\nb\n"}) == FileEdit(added=2, hunk=" a\n b", whole=True)
    assert describe("create", **{field: "a"}) == FileEdit(added=1, hunk=" a", whole=True)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "a"}),
        ("Edit", {"file_path": "a"}),
        ("Edit", {"old_string": 1, "new_string": ["x"]}),
        ("MultiEdit", {"edits": "x"}),
        ("Write", {"content": {"a": 1}}),
        ("apply_patch", {"input": ""}),
    ],
)
def test_what_is_no_edit_tells_nothing(tool: str, given: dict[str, object]) -> None:
    assert describe(tool, **given) is None


def test_a_long_edit_is_counted_in_full_and_told_in_part() -> None:
    edit = describe("Edit", old_string="x\n" * 500, new_string="y\n" * 400)
    assert edit is not None
    assert (edit.added, edit.removed) == (400, 500)
    assert len(edit.hunk.splitlines()) == MAX_HUNK_LINES


@given(st.text(max_size=30), st.text(max_size=30), st.binary(max_size=30))
def test_no_input_can_end_the_parser(old: str, new: str, raw: bytes) -> None:
    describe_edit("Edit", Raw(raw))
    edit = describe("Edit", old_string=old, new_string=new)
    if edit is not None:
        assert edit.added <= len(new.splitlines())
        assert edit.removed <= len(old.splitlines())
