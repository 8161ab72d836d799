"""A run in sentences, for screen readers."""

import re

import pytest

from ralph.faces.cli.live.plain_display import PlainDisplay
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.model.events import (
    AgentEnded,
    Committed,
    Debugged,
    Doing,
    Event,
    FileEdit,
    GateEnded,
    GateStarted,
    Hinted,
    IterationStarted,
    Noted,
    Paused,
    Planned,
    RunEnded,
    RunStarted,
    Said,
    Todo,
    ToolEnded,
    ToolStarted,
    Unparsed,
    Usage,
    Waiting,
    Warned,
)

STYLE = TerminalStyle(color=True, width=40, is_tty=True, progress=True, folder="/repo")
ENDED = AgentEnded(
    iteration=1,
    outcome="finished",
    detail="",
    seconds=67.0,
    cost_usd=0.5,
    usage=Usage(input_tokens=2000, output_tokens=300),
    tools=2,
    errors=1,
)
GATE = GateEnded(
    gate="make test",
    passed=False,
    exit_code=2,
    seconds=1.2,
    action="APPEND",
    log="/repo/.ralph/x.log",
    tail="E assert 1 == 2\n-----\n1 failed",
)
STOPPED = RunEnded(run="r1", outcome="over_budget", why="$5 spent", exit_code=1, iterations=1, seconds=70, cost_usd=5.0)

SENTENCES: dict[str, tuple[tuple[Event, ...], list[str]]] = {
    "a run": (
        (RunStarted(run="r1", agent="claude", limit=10, budget_usd=5.0, isolation="no sandbox"),),
        ["Run r1 starts with claude, up to 10 iterations, budget $5.00, no sandbox."],
    ),
    "an iteration": ((IterationStarted(2, 10, "coder T-1"),), ["Iteration 2 of 10 starts for coder T-1."]),
    "words": ((Said("one\n\n---\ntwo"), Said("hm\nhm", thinking=True)), ["one", "two", "Thinking: hm hm"]),
    "an edit": (
        (
            ToolStarted(
                id="1", name="Edit", summary="/repo/a.py", edit=FileEdit(added=1, removed=2, hunk="-a\n-b\n+c")
            ),
            ToolEnded(id="1", lines=0),
        ),
        [
            "Tool Edit: a.py, 1 line added, 2 removed.",
            "  Removed: a",
            "  Removed: b",
            "  Added: c",
            "Edit printed nothing.",
        ],
    ),
    "a tool that fails": (
        (ToolStarted(id="1", name="Bash", summary="make"), ToolEnded(id="1", error="exit code 1: no\n===\n", lines=2)),
        ["Tool Bash: make.", "Bash failed:", "  exit code 1: no"],
    ),
    "a plan": (
        (Planned((Todo("a", "done"), Todo("b", "active"), Todo("c"))),),
        ["Plan, 1 of 3 done:", "  Done: a", "  Now: b", "  To do: c"],
    ),
    "an agent's end": ((ENDED,), ["Agent finished after 1m7s, cost $0.50, 2K in / 300 out, 2 tool calls, 1 error."]),
    "a guardrail": (
        (GateStarted("make test"), GATE),
        [
            "Guardrail starts: make test.",
            "Guardrail failed: make test, exit code 2, 1.2s. Told to the agent.",
            "  E assert 1 == 2",
            "  1 failed",
            "  Full output: .ralph/x.log.",
        ],
    ),
    "what happens around it": (
        (
            Doing("asking for a commit message"),
            Committed(("commit",), "Add it", ("push: no",)),
            Warned("w"),
            Hinted("h"),
        ),
        ["Asking for a commit message.", "Committed: Add it.", "Warning: push: no", "Warning: w", "Next: h"],
    ),
    "a pause": ((Paused("alex"),), ["Paused by alex. Resume with: ralph resume"]),
    "an end": (
        (IterationStarted(1, 3), ENDED, GATE, STOPPED),
        [
            "Iteration 1: agent finished, 0 of 1 guardrails passed, 1m8s, cost $0.50.",
            "Run over budget: $5 spent.",
            "1 iteration, 1m10s, cost $5.00.",
        ],
    ),
}


def tell(*events: Event, style: TerminalStyle = STYLE, label: str = "") -> list[str]:
    written: list[str] = []
    PlainDisplay(style, written.append, written.append, label)(0.0, 1, events)
    return "".join(written).splitlines()


@pytest.mark.parametrize("what", SENTENCES)
def test_every_event_is_told_in_sentences(what: str) -> None:
    events, expected = SENTENCES[what]
    assert tell(*events)[-len(expected) :] == expected


def test_nothing_is_drawn_and_nothing_is_drawn_again() -> None:
    written: list[str] = []
    display = PlainDisplay(STYLE, written.append, written.append)
    display(0.0, 1, [event for events, _ in SENTENCES.values() for event in events])
    display(0.0, 1, [Waiting(60, "Usage limit.")])
    before = len(written)
    display.tick(99.0)
    display.close()
    assert not display.has_status_line
    assert len(written) == before
    assert re.fullmatch(r"[\n -~]*", "".join(written))


def test_sessions_and_details_are_for_verbose_and_tasks_have_their_names() -> None:
    events = (Noted("session: abc"), Debugged("x"), Unparsed(size=1))
    assert tell(*events) == []
    assert tell(*events, style=TerminalStyle(verbose=True)) == ["[ralph] x", "session: abc"]
    assert tell(Warned("careful"), label="T-1") == ["T-1: Warning: careful"]
    assert tell(Said("x"), Warned("w"), style=TerminalStyle(stream_agent_output=False)) == ["Warning: w"]


def test_text_of_others_cannot_send_sequences() -> None:
    assert tell(Said("a\x1b[2Jb"), ToolStarted(id="1", name="\x1b]0;x\x07T")) == ["ab", "Tool T."]
