"""An edit as it is shown."""

from ralph.core.text.plain import count_cells
from ralph.faces.cli.live.agent_lines import AgentEventRenderer
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.glyphs import ASCII_GLYPHS
from ralph.model.events import FileEdit, ToolEnded, ToolStarted

EDIT = ToolStarted(
    id="1",
    name="Edit",
    summary="/repo/src/calc.py",
    edit=FileEdit(added=1, removed=1, hunk="-\treturn a - b\n+\treturn a + b"),
)
WRITE = ToolStarted(id="2", name="Write", summary="new.py", edit=FileEdit(added=9, hunk=" import os", whole=True))


def show(event: ToolStarted, **style: object) -> list[str]:
    return AgentEventRenderer(TerminalStyle(folder="/repo", **style)).render_tool_started(event).split("\n")  # type: ignore[arg-type]


def test_an_edit_shows_its_size_and_its_lines() -> None:
    assert show(EDIT) == ["● Edit(src/calc.py +1 −1)", "  └ −     return a - b", "    +     return a + b"]
    assert show(EDIT, glyphs=ASCII_GLYPHS)[0] == "* Edit(src/calc.py +1 -1)"
    assert show(WRITE) == ["● Write(new.py 9 lines)", "  └   import os", "    … 8 more lines"]


def test_lines_have_signs_and_colours_and_fit_the_terminal() -> None:
    painted = show(EDIT, color=True)
    assert "\x1b[31m− " in painted[1]
    assert "\x1b[32m+ " in painted[2]
    assert all(count_cells(line) <= 24 for line in show(EDIT, width=24))


def test_long_lines_that_differ_late_are_shown_where_they_differ() -> None:
    same = "NUMERALS = (" + ", ".join(f'({n}, "{n}")' for n in range(9))
    late = ToolStarted(id="3", name="Edit", edit=FileEdit(added=1, removed=1, hunk=f"-{same}, old)\n+{same}, new)"))
    _, before, after = show(late, width=40)
    assert (before[:7], after[:7]) == ("  └ − …", "    + …")
    assert (before.endswith(", old)"), after.endswith(", new)")) == (True, True)
    assert all(count_cells(line) <= 40 for line in (before, after))


def test_as_many_lines_are_shown_as_wanted() -> None:
    assert show(EDIT, max_edit_lines=1)[1:] == ["  └ −     return a - b", "    … 1 more line"]
    assert show(EDIT, max_edit_lines=0) == ["● Edit(src/calc.py +1 −1)"]


def test_the_result_of_an_edit_repeats_nothing_and_its_error_is_shown() -> None:
    renderer = AgentEventRenderer(TerminalStyle())
    renderer.render_tool_started(EDIT)
    assert renderer.render_tool_ended(ToolEnded(id="1", output="updated", lines=1, chars=7)) == (
        "✓ Result ← Edit (1 line, 7 chars)"
    )
    renderer.render_tool_started(EDIT)
    assert "not found" in renderer.render_tool_ended(ToolEnded(id="1", error="not found", lines=1, chars=9))
