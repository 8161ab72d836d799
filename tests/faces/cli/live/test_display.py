"""A run as it is watched."""

import io
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.text.plain import count_cells
from ralph.faces.cli.live.display import TextDisplay
from ralph.faces.cli.live.json_lines import JsonDisplay, replay_events
from ralph.faces.cli.live.summary import IterationRow, render_summary_table
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.cli.terminal.output import Output
from ralph.faces.glyphs import ASCII_GLYPHS, EMOJI_GLYPHS, UNICODE_GLYPHS, Glyphs
from ralph.model.events import (
    AgentEnded,
    AgentEvent,
    Committed,
    Debugged,
    Event,
    EventRecord,
    Finished,
    GateEnded,
    GateStarted,
    IterationStarted,
    LoopEvent,
    Noted,
    Planned,
    RunEnded,
    RunStarted,
    Said,
    Spent,
    Todo,
    ToolEnded,
    ToolStarted,
    Unparsed,
    Usage,
    Waiting,
    Warned,
)

NOON = 1_800_014_400.0  # 2027-01-15 12:00:00 UTC
SETS = {"emoji": EMOJI_GLYPHS, "unicode": UNICODE_GLYPHS, "ascii": ASCII_GLYPHS}
COLOUR = TerminalStyle(color=True, width=60, is_tty=True, progress=True)


class Screen:
    """Keeps what was written, a string a write."""

    def __init__(self) -> None:
        self.writes: list[str] = []

    def __call__(self, text: str) -> None:
        self.writes.append(text)

    @property
    def text(self) -> str:
        return "".join(self.writes)


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def shown(look: TerminalStyle, *events: Event) -> list[str]:
    screen = Screen()
    TextDisplay(look, screen, Screen())(NOON, 1, events)
    return screen.text.splitlines()


FINISHED = AgentEnded(
    iteration=1,
    outcome="finished",
    detail="",
    seconds=367.2,
    cost_usd=5.76,
    usage=Usage(input_tokens=1_234_567, output_tokens=45_000, cache_read_tokens=800_000, cache_write_tokens=50_000),
    tools=58,
    errors=4,
)
READ = (
    ToolStarted(id="1", name="Read", summary="path"),
    ToolEnded(id="1", output="package main", error=None, lines=45, chars=1234),
)
TODOS = Planned((Todo("Read the file", "done"), Todo("Edit the code", "active"), Todo("Run tests")))
VERIFICATION = GateEnded(
    gate="coder: external",
    passed=False,
    exit_code=None,
    seconds=0.1,
    detail="Command exited with 2, expected 0",
    tail="1 failed",
    is_verification=True,
    command="make test",
    log="/repo/.git/ralph/runs/r1/verification_001.log",
)
GATE = GateEnded(
    gate="make test",
    passed=False,
    exit_code=2,
    seconds=1.2,
    action="APPEND",
    log=".ralph/guardrail_001_make_test.log",
    detail="2 failed",
    tail="\n".join(f"line {number}" for number in range(1, 8)),
)
ENDED = RunEnded(
    run="r1",
    outcome="completed",
    why="agent claimed DONE",
    exit_code=0,
    iterations=3,
    seconds=367,
    cost_usd=0.71,
    usage=Usage(input_tokens=184_000, output_tokens=9_000),
)

LINES: dict[str, tuple[tuple[Event, ...], list[str]]] = {  # {g.…}: a glyph of the set in use
    "a tool and its result": (
        READ,
        [
            "{g.tool} Read(path)",
            "{g.ok} Result {g.left_arrow} Read (45 lines, 1234 chars)",
            "{g.branch}package main",
            "{blank}{g.ellipsis} 44 more lines",
        ],
    ),
    "a tool's error": (
        (ToolStarted(id="1", name="Bash"), ToolEnded(id="1", output="", error="exit code 1: no", lines=1, chars=15)),
        ["{g.tool} Bash", "{g.bad} Error {g.left_arrow} Bash (1 line, 15 chars)", "{g.branch}exit code 1: no"],
    ),
    "todos": (
        (TODOS,),
        [
            "{g.plan}Todo List",
            "  {g.done} Read the file",
            "  {g.active} Edit the code {g.left_arrow} ACTIVE",
            "  {g.pending} Run tests",
            "  {g.progress}Progress: 1/3 (33%)",
        ],
    ),
    "an agent that finished": (
        (FINISHED,),
        [
            (
                "{g.ok} {g.agent_ended} (cost: $5.76, tokens: 1.2M in (850K cached) / 45K out,"
                " tools: 58, errors: 4, time: 6m7s)"
            ),
        ],
    ),
    "an agent that did not": (
        (AgentEnded(iteration=1, outcome="timed_out", detail="No end after 60s.", seconds=60.0, cost_usd=0.1),),
        ["{g.bad} No end after 60s. {g.dot} 1m {g.dot} $0.10"],
    ),
    "guardrails": (
        (
            GateStarted("make lint"),
            GateEnded(gate="make lint", passed=True, exit_code=0, seconds=0.3),
            GATE,
            GateStarted("coder: external", is_verification=True, command="make test"),
            VERIFICATION,
        ),
        [
            '{g.check} Guardrail "make lint" started',
            '{g.ok} Guardrail "make lint" passed with exit code 0 (0.3s)',
            '{g.bad} Guardrail "make test" failed with exit code 2 (1.2s), told to the agent',
            "{g.branch}2 failed",
            *(f"{{blank}}line {number}" for number in range(3, 8)),
            "{blank}full output: .ralph/guardrail_001_make_test.log",
            '{g.check} Verification "coder: external" started: make test',
            '{g.bad} Verification "coder: external" failed (0.1s), told to the agent',
            "{g.branch}`make test`: Command exited with 2, expected 0",
            "{blank}1 failed",
            "{blank}full output: .git/ralph/runs/r1/verification_001.log",
        ],
    ),
    "a run's beginning and an iteration's": (
        (RunStarted(run="r1", agent="claude", limit=10), IterationStarted(3, 10)),
        ["run r1 {g.dot} claude {g.dot} up to 10 iterations", "", "{g.rule}{g.rule} Iteration 3/10 {rest_of_rule}"],
    ),
    "a commit": (
        (Committed(("commit", "push"), "Add it", ("push: no remote",)),),
        ["{g.ok} Committed: Add it (commit, push)", "{g.warn} push: no remote"],
    ),
    "waiting": ((Waiting(300, "Usage limit."),), ["{g.wait} Waiting 5m, until 12:05: Usage limit."]),
    "a warning and a note": (
        (Warned("Baseline is red"), Noted("a note"), Noted("session: abc123")),
        ["{g.warn} Baseline is red", "{g.dot} a note"],
    ),
    "a run's end": (
        (ENDED,),
        [
            (
                "{g.ok} Completed: agent claimed DONE {g.dot} 3 iterations"
                " {g.dot} 6m7s {g.dot} $0.71 {g.dot} 184K in / 9K out"
            )
        ],
    ),
}


@pytest.mark.parametrize("glyphs", SETS.values(), ids=SETS)
@pytest.mark.parametrize("what", LINES)
def test_every_event_has_its_lines(what: str, glyphs: Glyphs) -> None:  # 001-28, 001-29
    events, lines = LINES[what]
    blank = " " * count_cells(glyphs.branch)
    expected = [line.format(g=glyphs, blank=blank, rest_of_rule=glyphs.rule * 42) for line in lines]
    assert shown(TerminalStyle(glyphs=glyphs, folder="/repo"), *events) == expected


@pytest.mark.parametrize(
    ("name", "signs"),
    [
        ("emoji", "⏺ ✅ ❌ ⎿ ← → 📋 ✅ 🔄 🔄 ⏸️ 📊 🔍 ⏳ ⚠️ ━ · … — ≈ − ✓ ✗ Complete"),
        ("unicode", "● ✓ ✗ └ ← → ▸ ☑ ▸ ↻ ☐ ▸ ▸ ! ━ · … — ≈ − ✓ ✗ Agent finished"),
        ("ascii", "* [OK] [ERR] `- <- -> [x] [>] [>] [ ] > > [WARN] = - ... - ~ - + x Agent finished"),
    ],
)
def test_each_glyph_set_has_its_signs(name: str, signs: str) -> None:  # 001-29
    drawn = msgspec.structs.astuple(SETS[name])
    assert " ".join(sign.strip() for sign in drawn if sign) == signs


def test_every_event_there_is_can_be_shown() -> None:
    display = TextDisplay(TerminalStyle(), Screen(), Screen())
    assert set(display._renderers) == {*get_args(AgentEvent), *get_args(LoopEvent)}


# -- the agent's events ---------------------------------------------------------------------------
def test_text_is_shown_whole_and_in_order() -> None:  # 001-28
    assert shown(TerminalStyle(), Said("\none\n\ntwo\n"), Said("three")) == ["one", "", "two", "three"]


def test_text_is_wrapped_on_a_terminal_and_not_in_a_log() -> None:
    words = "Cache the lookups of users 日本語 by id"
    assert shown(TerminalStyle(width=20), Said(words)) == ["Cache the lookups of", "users 日本語 by id"]
    assert shown(TerminalStyle(), Said(words)) == [words]


def test_a_subagent_is_indented() -> None:
    nested = (
        Said("a\nb", nested=True),
        ToolStarted(id="1", name="Grep", summary="x", nested=True),
        ToolEnded(id="1", output="y", error=None, lines=1, chars=1, nested=True),
    )
    assert shown(TerminalStyle(), *nested) == [
        "  a",
        "  b",
        "  ● Grep(x)",
        "  ✓ Result ← Grep (1 line, 1 char)",
        "    └ y",
    ]


def test_a_thought_is_one_line() -> None:
    assert shown(TerminalStyle(width=20), Said("I think\nthat it should work", thinking=True)) == [
        "· I think that it s…"
    ]


def test_silence_leaves_no_line() -> None:
    events = (
        Said(""),
        Said("\n\n"),
        Said(" ", thinking=True),
        Noted(""),
        Planned(()),
        Spent(1.0),
        Finished(ok=True),
        Committed(),
    )
    assert shown(TerminalStyle(), *events) == []


def test_an_unknown_result_has_no_name() -> None:
    assert shown(TerminalStyle(), ToolEnded(id="x", output="y", error=None, lines=1, chars=1)) == [
        "✓ Result (1 line, 1 char)",
        "  └ y",
    ]


def test_a_tool_without_output_says_so() -> None:
    assert (
        shown(TerminalStyle(), ToolStarted(id="1", name="Edit", summary="a"), ToolEnded(id="1"))[1]
        == "✓ Result ← Edit (no output)"
    )


def test_a_result_finds_its_tool_among_others() -> None:  # 001-28: correlation by id
    lines = shown(
        TerminalStyle(),
        ToolStarted(id="1", name="Read", summary="a"),
        ToolStarted(id="2", name="Bash", summary="b"),
        ToolEnded(id="1"),
        ToolEnded(id="2"),
    )
    assert lines[2:] == ["✓ Result ← Read (no output)", "✓ Result ← Bash (no output)"]


def test_calls_nobody_answers_are_forgotten() -> None:
    display = TextDisplay(TerminalStyle(), Screen(), Screen())
    display(NOON, 1, [ToolStarted(id=str(n), name="Read") for n in range(5000)])
    assert len(display._agent._open_call_names) <= 1000
    display(NOON, 2, [IterationStarted(2, 3)])
    assert not display._agent._open_call_names


def test_output_is_limited_in_lines_and_chars() -> None:  # 001-29
    look = TerminalStyle(max_output_lines=2, max_output_chars=6)
    output = "1234567\n\nthree\nfour\n"
    assert shown(look, ToolEnded(id="1", output=output, error=None, lines=4, chars=20))[1:] == [
        "  └ 12345…",
        "    ",
        "    … 2 more lines",
    ]
    assert (
        len(shown(TerminalStyle(max_output_lines=0), ToolEnded(id="1", output=output, error=None, lines=4, chars=20)))
        == 1
    )


def test_a_last_newline_is_no_more_line() -> None:
    assert shown(TerminalStyle(), ToolEnded(id="1", output="hello\n", error=None, lines=1, chars=6))[1:] == [
        "  └ hello"
    ]


@pytest.mark.parametrize("width", [24, 33, 60])
@pytest.mark.parametrize("glyphs", SETS.values())
def test_no_line_of_an_agent_is_wider_than_the_terminal(glyphs: Glyphs, width: int) -> None:
    wide = "日本語 and words that go on and on, ✅ é e\u0301 " * 9
    events = (
        Said(wide),
        Said(wide, nested=True),
        Said(wide, thinking=True),
        ToolStarted(id="1", name="Bash", summary=wide),
        ToolEnded(id="1", output=wide + "\n" + wide, error=None, lines=2, chars=900, nested=True),
        ToolStarted(id="2", name="Bash", summary=wide, nested=True),
        Noted(wide),
        Planned((Todo(wide), Todo(wide, "active"), Todo(wide, "done"))),
        Unparsed(size=1, kind="", sample=wide),
    )
    lines = shown(TerminalStyle(glyphs=glyphs, width=width), *events)
    assert [line for line in lines if count_cells(line) > width and "Result" not in line] == []


def test_unknown_events_are_hinted_at_once_a_run() -> None:
    screen = Screen()
    display = TextDisplay(TerminalStyle(), screen, Screen())
    for run in ("r1", "r2"):
        display(
            NOON,
            1,
            [
                RunStarted(run=run, agent="claude", limit=1),
                *[Unparsed(size=9, kind="future_type")] * 3,
                *[Unparsed(size=9, kind="", sample="oops")] * 3,
            ],
        )
    hint = "· unknown event 'future_type': this agent may need a newer ralph"
    assert screen.text.splitlines()[1:3] == [hint, "· output that is not an event: oops"]
    assert screen.text.count("future_type") == screen.text.count("oops") == 2


def test_without_streaming_only_the_loop_is_shown() -> None:  # 001-02
    events = (Said("x"), *READ, TODOS, Noted("n"), Unparsed(size=1, kind="k"), Warned("loop"))
    assert shown(TerminalStyle(stream_agent_output=False), *events) == ["! loop"]


# -- the loop's events ----------------------------------------------------------------------------
def test_a_resumed_run_says_so() -> None:
    assert shown(TerminalStyle(), RunStarted(run="r1", agent="codex", limit=1, resumed=True)) == [
        "run r1 resumed · codex · up to 1 iteration"
    ]


def test_a_cost_nobody_told_is_unknown() -> None:
    assert shown(TerminalStyle(), AgentEnded(iteration=1, outcome="finished", detail="", seconds=1.0))[0].startswith(
        "✓ Agent finished (cost: —, tokens: —,"
    )
    assert shown(
        TerminalStyle(glyphs=ASCII_GLYPHS), AgentEnded(iteration=1, outcome="finished", detail="", seconds=1.0)
    )[0].startswith("[OK] Agent finished (cost: -,")
    assert shown(
        TerminalStyle(), RunEnded(run="r", outcome="over_budget", why="", exit_code=1, iterations=1, seconds=5)
    ) == ["✗ Over budget · 1 iteration · 5s"]


def test_an_outcome_without_a_sentence_is_named() -> None:
    assert shown(TerminalStyle(), AgentEnded(iteration=1, outcome="timed_out", detail="", seconds=2.0)) == [
        "✗ timed out · 2s"
    ]


def test_a_long_wait_names_the_day() -> None:
    assert shown(TerminalStyle(), Waiting(3 * 86400, "")) == ["▸ Waiting 72h, until 2027-01-18 12:00"]


def test_timestamps_stand_before_every_line() -> None:  # 001-29
    lines = shown(TerminalStyle(timestamps=True), Said("a\nb"), IterationStarted(1, 2))
    assert [line[:11] for line in lines] == ["[12:00:00] "] * 3
    assert shown(TerminalStyle(timestamps=True), Said("x")) == ["[12:00:00] x"]


def test_a_time_no_calendar_reaches_ends_nothing() -> None:
    screen = Screen()
    TextDisplay(TerminalStyle(timestamps=True), screen, screen)(1e300, 1, [Said("x"), Waiting(1, "y")])
    assert screen.text.startswith("[?] x\n")


def test_verbose_goes_to_stderr_with_a_prefix() -> None:  # 001-26
    out, err = Screen(), Screen()
    display = TextDisplay(TerminalStyle(verbose=True, timestamps=True), out, err)
    display(NOON, 1, [Debugged("Guardrail exited with code 0 (1.2s)"), Debugged("two\nlines\x1b[2J")])
    assert err.text == "[ralph] Guardrail exited with code 0 (1.2s)\n[ralph] two\n[ralph] lines\n"
    assert out.text == ""


def test_what_is_not_verbose_hides_debugging() -> None:  # 001-26
    out, err = Screen(), Screen()
    TextDisplay(TerminalStyle(), out, err)(NOON, 1, [Debugged("x")])
    assert out.text == err.text == ""


def test_stderr_and_stdout_keep_their_order() -> None:
    both = Screen()
    TextDisplay(TerminalStyle(verbose=True), both, both)(NOON, 1, [Said("a"), Debugged("b"), Said("c")])
    assert both.text == "a\n[ralph] b\nc\n"


def test_a_call_is_one_write() -> None:
    screen = Screen()
    TextDisplay(TerminalStyle(), screen, Screen())(NOON, 1, [Said("a"), *READ, Said("b")])
    assert len(screen.writes) == 1


# -- the table ------------------------------------------------------------------------------------
def test_the_end_of_a_run_has_a_table_of_its_iterations() -> None:
    events = (
        RunStarted(run="r1", agent="claude", limit=3),
        GateEnded(gate="make test", passed=False, exit_code=1, seconds=1.0),  # before the first iteration: no row
        IterationStarted(1, 3),
        AgentEnded(iteration=0, outcome="limited", detail="Usage limit.", seconds=5.0),
        IterationStarted(1, 3),
        AgentEnded(iteration=1, outcome="finished", detail="", seconds=60.0, cost_usd=0.5),
        GateEnded(gate="lint", passed=True, exit_code=0, seconds=1.0),
        GateEnded(gate="test", passed=False, exit_code=2, seconds=1.0),
        IterationStarted(2, 3),
        AgentEnded(iteration=2, outcome="finished", detail="", seconds=60.0, cost_usd=0.25),
        GateEnded(gate="test", passed=True, exit_code=0, seconds=1.0),
        Committed(("commit",), "Add 日本"),
        IterationStarted(3, 3),
        ENDED,
    )
    assert shown(TerminalStyle(), *events)[-6:-1] == [
        "",
        "#  agent     guardrails  commit    time   cost",
        "1  finished  ✗ 1/2       —         1m7s  $0.50",
        "2  finished  ✓ 1/1       Add 日本  1m1s  $0.25",
        "3  —         —           —           0s      —",
    ]


def test_a_long_run_has_a_short_table() -> None:
    table = render_summary_table([IterationRow(iteration=n) for n in range(1, 31)], TerminalStyle()).splitlines()
    assert len(table) == 22
    assert table[1] == "… 10 earlier iterations"
    assert table[-1].startswith("30")


@pytest.mark.parametrize("glyphs", [UNICODE_GLYPHS, ASCII_GLYPHS])
def test_the_table_fits_forty_columns(glyphs: Glyphs) -> None:
    row = IterationRow(iteration=12, outcome="finished", checks=2, passed=1, failed=1, commit="Fix it", seconds=75)
    table = render_summary_table([row], TerminalStyle(glyphs=glyphs, width=40))
    assert "commit" not in table
    assert max(map(len, table.splitlines())) <= 40


def test_a_run_without_iterations_has_no_table() -> None:
    assert render_summary_table([], TerminalStyle()) == ""
    assert len(shown(TerminalStyle(), ENDED)) == 1


# -- nothing but text -----------------------------------------------------------------------------
EVIL = "x\x1b]52;c;AAAA\x07\x1b[2J\r\x9b31m\u202e\x08y\nz"
EVIL_EVENTS: tuple[Event, ...] = (
    RunStarted(run=EVIL, agent=EVIL, limit=1),
    IterationStarted(1, 1),
    Said(EVIL),
    Said(EVIL, thinking=True),
    ToolStarted(id="1", name=EVIL, summary=EVIL),
    ToolEnded(id="1", output=EVIL, error=None, lines=2, chars=9),
    ToolEnded(id="2", output=EVIL, error=EVIL, lines=2, chars=9),
    Planned((Todo(EVIL), Todo(EVIL, "active"), Todo(EVIL, "done"))),
    Noted(EVIL),
    Unparsed(size=1, kind=EVIL),
    Unparsed(size=1, kind="", sample=EVIL),
    AgentEnded(iteration=1, outcome=EVIL, detail=EVIL, seconds=1.0),
    AgentEnded(iteration=1, outcome=EVIL, detail="", seconds=1.0),
    GateStarted(EVIL),
    GateEnded(gate=EVIL, passed=False, exit_code=1, seconds=1.0, action=EVIL, log=EVIL, detail=EVIL, tail=EVIL),
    Committed((EVIL,), EVIL, (EVIL,)),
    Waiting(1.0, EVIL),
    Warned(EVIL),
    Debugged(EVIL),
    RunEnded(run=EVIL, outcome=EVIL, why=EVIL, exit_code=1, iterations=1, seconds=1.0),
)


@pytest.mark.parametrize("width", [0, 40])
def test_without_colour_not_one_escape_is_written(width: int) -> None:  # 001-29
    screen = Screen()
    display = TextDisplay(TerminalStyle(width=width, verbose=True), screen, screen)
    display(NOON, 1, EVIL_EVENTS)
    assert not set(screen.text) & {chr(n) for n in (*range(9), *range(11, 32), *range(127, 160), 0x202E)}


def test_with_colour_only_our_own_escapes_are_written() -> None:
    screen = Screen()
    TextDisplay(TerminalStyle(color=True, width=40, verbose=True), screen, screen)(NOON, 1, EVIL_EVENTS)
    left = screen.text
    for ours in ("0", "1", "2", "31", "32", "33", "36"):
        left = left.replace(f"\x1b[{ours}m", "")
    assert "\x1b[31m" in screen.text
    assert not set(left) & {chr(n) for n in (*range(9), *range(11, 32), *range(127, 160), 0x202E)}


@given(st.text(), st.integers(24, 200) | st.just(0))
def test_no_text_can_end_the_display(text: str, width: int) -> None:
    screen = Screen()
    display = TextDisplay(TerminalStyle(color=True, width=width, is_tty=True, progress=True), screen, screen)
    display(
        NOON,
        1,
        [
            RunStarted(run="r", agent="a", limit=1),
            Said(text),
            ToolStarted(id=text, name=text, summary=text),
            ToolEnded(id=text, output=text, error=text, lines=1, chars=1),
        ],
    )
    display.tick(NOON + 1)


# -- the line at the bottom -----------------------------------------------------------------------
def bottom(*events: Event, later: float = 130.0, look: TerminalStyle = COLOUR) -> str:
    screen = Screen()
    display = TextDisplay(look, screen, Screen(), lambda: 60)
    display(NOON, 3, [RunStarted(run="r1", agent="claude", limit=10), *events])
    display.tick(NOON + later)
    return screen.writes[-1].replace("\x1b[2m", "").replace("\x1b[0m", "").removeprefix("\r\x1b[K")


def test_the_bottom_line_fits_the_terminal_of_the_moment() -> None:
    line = bottom(IterationStarted(3, 10), ToolStarted(id="1", name="Bash", summary="echo 日本語 " * 20))
    assert count_cells(line) <= 59
    assert line.endswith("…")


def test_the_bottom_line_is_renewed_four_times_a_second_at_most() -> None:
    screen = Screen()
    display = TextDisplay(COLOUR, screen, Screen())
    display(NOON, 1, [RunStarted(run="r1", agent="claude", limit=10)])
    before = len(screen.writes)
    for n in range(100):
        display.tick(NOON + n / 100)
    assert len(screen.writes) - before == 3


def test_the_bottom_line_stays_below_what_is_printed() -> None:
    screen = Screen()
    display = TextDisplay(COLOUR, screen, Screen())
    display(NOON, 1, [RunStarted(run="r1", agent="claude", limit=10)])
    display(NOON + 0.01, 1, [Said("text")])
    assert screen.writes[-1] == "\r\x1b[Ktext\n\x1b[2mralph · 0s · preparing…\x1b[0m"


def test_the_bottom_line_is_gone_at_the_end() -> None:
    screen = Screen()
    display = TextDisplay(COLOUR, screen, Screen())
    display(NOON, 1, [RunStarted(run="r1", agent="claude", limit=10)])
    display(NOON + 9, 1, [ENDED])
    assert screen.text.endswith("out\n")
    count = len(screen.writes)
    display.tick(NOON + 10)
    display.close()
    assert screen.writes[count:] in (["", ""], [""], [])


def test_close_removes_the_bottom_line() -> None:
    screen = Screen()
    display = TextDisplay(COLOUR, screen, Screen())
    display(NOON, 1, [RunStarted(run="r1", agent="claude", limit=10)])
    display.close()
    display.tick(NOON + 10)
    assert screen.writes[-1] == "\r\x1b[K"


def test_verbose_lines_do_not_collide_with_the_bottom_line() -> None:
    both = Screen()
    display = TextDisplay(TerminalStyle(width=60, color=True, is_tty=True, progress=True, verbose=True), both, both)
    display(NOON, 1, [RunStarted(run="r1", agent="claude", limit=10)])
    display(NOON, 1, [Debugged("x")])
    assert both.text.endswith("\r\x1b[K[ralph] x\n\x1b[2mralph · 0s · preparing…\x1b[0m")


def test_without_colour_blanks_erase_the_bottom_line() -> None:
    screen = Screen()
    display = TextDisplay(TerminalStyle(width=60, is_tty=True, progress=True), screen, Screen())
    display(NOON, 1, [RunStarted(run="r1", agent="claude", limit=10)])
    display(NOON, 1, [Said("x")])
    assert screen.writes[-1] == "\r" + " " * 23 + "\rx\nralph · 0s · preparing…"


def test_a_log_has_no_bottom_line() -> None:
    screen = Screen()
    display = TextDisplay(TerminalStyle(), screen, Screen())
    display(NOON, 1, [RunStarted(run="r1", agent="claude", limit=10)])
    display.tick(NOON + 9)
    display.close()
    assert screen.text == "run r1 · claude · up to 10 iterations\n"


def test_a_narrower_terminal_is_noticed() -> None:
    width = 60
    screen = Screen()
    display = TextDisplay(COLOUR, screen, Screen(), lambda: width)
    display(NOON, 1, [RunStarted(run="r1", agent="claude", limit=10)])
    width = 30
    display.tick(NOON + 1)
    display(NOON + 1, 1, [Said("words that need more than thirty cells")])
    assert "words that need more than\nthirty cells\n" in screen.text


@pytest.mark.parametrize("width", [5, 10, 20])
def test_the_bottom_line_fits_the_narrowest_terminal(width: int) -> None:
    screen = Screen()
    display = TextDisplay(COLOUR, screen, Screen(), lambda: width)
    display(
        NOON,
        1,
        [
            RunStarted(run="r1", agent="claude", limit=10),
            IterationStarted(1, 10),
            ToolStarted(id="1", name="Bash", summary="make test"),
        ],
    )
    display.tick(NOON + 5)
    line = screen.text.rpartition("\x1b[K")[2].removeprefix("\x1b[2m").removesuffix("\x1b[0m")
    assert count_cells(line) < width


def read_all(fd: int) -> bytes:
    found = b""
    while select.select([fd], [], [], 0.2)[0]:
        try:
            block = os.read(fd, 65536)
        except OSError:  # a terminal whose other end is closed
            break
        if not block:
            break
        found += block
    return found


def test_the_bottom_line_in_a_real_terminal() -> None:
    parent, child = pty.openpty()
    with open(child, "w", encoding="utf-8") as stream:
        out = Output.for_stream(stream)
        display = TextDisplay(COLOUR, out, out, out.read_width)
        display(NOON, 1, [RunStarted(run="r1", agent="claude", limit=10), IterationStarted(1, 10)])
        display.tick(NOON + 5)
        display(NOON + 6, 1, [Said("done"), ENDED])
        display.close()
        written = read_all(parent).decode()
    os.close(parent)
    assert "\x1b[2m1/10 · 5s · starting claude… (5s)\x1b[0m\r\x1b[Kdone\r\n" in written
    assert written.endswith("184K in / 9K out\r\n")


# -- the way out ----------------------------------------------------------------------------------
def test_a_reader_that_leaves_ends_only_the_display() -> None:
    reading, writing = os.pipe()
    out = Output(writing)
    display = TextDisplay(TerminalStyle(), out, out)
    display(NOON, 1, [Said("one")])
    assert os.read(reading, 99) == b"one\n"
    os.close(reading)
    for _ in range(3):
        display(NOON, 1, [Said("two")])
    os.close(writing)


def test_a_silenced_output_never_writes_to_a_descriptor_reused_since() -> None:
    reading, writing = os.pipe()
    out = Output(writing)
    os.close(reading)
    out("x")
    os.close(writing)
    other_reading, other_writing = os.pipe()
    for fd in (other_reading, other_writing):
        os.set_blocking(fd, False)
    out("must not appear")
    with pytest.raises(BlockingIOError):
        os.read(other_reading, 9)
    os.close(other_reading)
    os.close(other_writing)


def test_a_stream_closed_at_start_is_silent(tmp_path: Path) -> None:
    Output.for_stream(None)("x")
    closed = io.StringIO()
    closed.close()
    Output.for_stream(closed)("x")
    code = (
        "import sys, os\nfrom ralph.faces.cli.terminal.output import Output\nout = Output.for_stream(sys.stdout)\n"
        "fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\nassert fd == 1\nout('x')\nassert os.fstat(1).st_size == 0"
    )
    command = ["sh", "-c", 'exec "$0" "$@" >&-', sys.executable, "-c", code, str(tmp_path / "taken")]
    assert subprocess.run(command, check=False).returncode == 0


def test_a_full_disk_is_survived() -> None:
    fd = os.open("/dev/full", os.O_WRONLY)
    out = Output(fd)
    out("x")
    out("y")
    os.close(fd)


def test_an_ascii_stdout_gets_question_marks() -> None:
    reading, writing = os.pipe()
    with open(writing, "w", encoding="ascii") as stream:
        out = Output.for_stream(stream)
        TextDisplay(TerminalStyle(glyphs=EMOJI_GLYPHS), out, out)(
            NOON, 1, [Said("café ✓"), ToolStarted(id="1", name="Read", summary="日")]
        )
    assert os.read(reading, 99) == b"caf? ?\n? Read(?)\n"
    os.close(reading)


def test_a_non_blocking_stdout_gets_all_of_it() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    text = "x" * 300_000
    reader = subprocess.Popen(
        [sys.executable, "-c", "import sys; print(len(sys.stdin.read()))"], stdin=reading, stdout=subprocess.PIPE
    )
    os.close(reading)
    Output(writing)(text)
    os.close(writing)
    assert reader.communicate()[0] == b"300000\n"


def test_a_reader_that_is_stuck_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ralph.faces.cli.terminal.output.MAX_WRITE_WAIT_SECONDS", 0.05)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    out = Output(writing)
    for _ in range(50):
        out("x" * 100_000)
    assert read_all(reading).strip(b"x") == b""
    out("y\n")
    assert read_all(reading) == b"\ny\n"  # what was torn does not run into what follows
    os.close(reading)
    os.close(writing)


def test_a_stream_without_a_descriptor_is_written_to() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    Output.for_stream(stream)("é\n")
    stream.seek(0)
    assert stream.read() == "é\n"


def test_an_unknown_encoding_is_ascii() -> None:
    class Odd(io.StringIO):
        encoding = "no-such"

    odd = Odd()
    Output.for_stream(odd)("é")
    assert odd.getvalue() == "?"


# -- JSON -----------------------------------------------------------------------------------------
def json_lines(look: TerminalStyle, *events: Event) -> bytes:
    sent: list[bytes] = []
    display = JsonDisplay(look, sent.append)
    display(NOON, 2, events)
    display.tick(NOON)
    display.close()
    assert len(sent) <= 1
    return b"".join(sent)


def test_json_is_one_moment_a_line() -> None:
    lines = json_lines(TerminalStyle(), Said("é\x1b"), ENDED).splitlines()
    assert json.loads(lines[0]) == {"at": NOON, "iteration": 2, "event": {"type": "said", "text": "é\x1b"}}
    assert [msgspec.json.decode(line, type=EventRecord).event for line in lines] == [Said("é\x1b"), ENDED]


def test_json_leaves_out_what_is_not_wanted() -> None:
    assert json_lines(TerminalStyle(), Debugged("x")) == b""
    assert b"debugged" in json_lines(TerminalStyle(verbose=True), Debugged("x"))
    assert json_lines(TerminalStyle(stream_agent_output=False), Said("x"), Noted("y")) == b""


def test_half_a_character_does_not_end_json() -> None:
    line = json_lines(TerminalStyle(), Warned("no file \udcff"), Said("x"))
    assert [m.event for m in (msgspec.json.decode(row, type=EventRecord) for row in line.splitlines())] == [
        Warned("no file ?"),
        Said("x"),
    ]


def test_stored_events_look_as_they_did() -> None:
    events = (
        RunStarted(run="r1", agent="claude", limit=2),
        IterationStarted(1, 2),
        Said("text"),
        *READ,
        FINISHED,
        ENDED,
    )
    screen = Screen()
    skipped = replay_events(json_lines(TerminalStyle(), *events), TextDisplay(TerminalStyle(), screen, Screen()))
    assert screen.text.splitlines() == shown(TerminalStyle(), *events)
    assert skipped == 0
    assert len(screen.writes) == 1  # one moment, one write


def test_lines_that_are_not_understood_are_skipped() -> None:
    whole = json_lines(TerminalStyle(), Said("a"), Said("b"))
    odd = b'{"at":1,"iteration":1,"event":{"type":"from_the_future"}}\n\n\xff\xfe\n[]\n'
    screen = Screen()
    assert replay_events(odd + whole + whole[:20], TextDisplay(TerminalStyle(), screen, Screen())) == 4
    assert screen.text == "a\nb\n"


def test_a_newer_field_is_no_obstacle() -> None:
    line = b'{"at":1,"iteration":1,"more":1,"event":{"type":"said","text":"x","mood":"good"}}'
    screen = Screen()
    assert replay_events(line, TextDisplay(TerminalStyle(), screen, Screen())) == 0
    assert screen.text == "x\n"


def test_a_flood_of_nothing_to_show_shows_nothing() -> None:
    screen = Screen()
    display = TextDisplay(TerminalStyle(timestamps=True), screen, Screen())
    for _ in range(3):
        display(NOON, 1, [Unparsed(size=3)] * 200)
    assert len(screen.text.splitlines()) == 1  # the hint about the first


def test_the_name_of_a_session_is_for_who_wants_every_detail() -> None:
    assert shown(TerminalStyle(verbose=True), Noted("session: abc123")) == ["· session: abc123"]


def test_of_tests_the_last_lines_are_shown() -> None:
    output = "".join(f"test_{number} ok\n" for number in range(1, 40)) + "\n2 failed, 38 passed in 0.4s\n"
    ended = ToolEnded(id="1", output=output, lines=41, chars=len(output), from_end=True)
    assert shown(TerminalStyle(max_output_lines=2), ended)[1:] == [
        "  └ … 39 lines above",
        "    test_39 ok",
        "    2 failed, 38 passed in 0.4s",
    ]


def test_paths_below_the_folder_are_relative() -> None:
    style = TerminalStyle(folder="/home/me/repo")
    for path, seen in {
        "/home/me/repo/src/calc.py": "src/calc.py",
        "/home/me/repo/.ralph/worktrees/T-1/src/calc.py": "src/calc.py",
        "cat /home/me/repo/a /home/me/other/b": "cat a /home/me/other/b",
    }.items():
        assert shown(style, ToolStarted(id="1", name="Read", summary=path)) == [f"● Read({seen})"]
