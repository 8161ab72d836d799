"""What `ralph status` says of a run."""

import os
import time

import pytest

from ralph.faces.cli.pages.runs import format_run, run_to_dict
from ralph.model.runs import RunRecord
from ralph.process.identity import identify_process


def make_record(**fields: object) -> RunRecord:
    identity = identify_process(os.getpid())
    assert identity is not None
    return RunRecord(
        **{  # type: ignore[arg-type]  # fields of any type
            "id": "20261117-120000-abcd",
            "kind": "run",
            "folder": "/app",
            "agent": "claude",
            "pid": identity.pid,
            "ticks": identity.ticks,
            "boot": identity.boot,
            "guardian": identity.pid,
            "guardian_ticks": identity.ticks,
            "parent": None,
            "task": "",
            "started_at": time.time(),
            "ended_at": None,
            "outcome": None,
            "why": None,
            "iteration": 2,
            "limit": 10,
            "cost_usd": 0.5,
            "doing": "run_agent",
            "elapsed": 60.0,
            "changed_at": time.time(),
            **fields,
        }
    )


def test_a_running_run_names_its_prompt_and_when_it_began() -> None:
    record = make_record()
    first, second = format_run(record, "Fix the tests")
    assert first == "● 20261117-120000-abcd  running  Fix the tests"
    began = time.strftime("%H:%M", time.localtime(record.started_at))
    assert second.strip().startswith(f"claude · iteration 2/10 · 1m · $0.50 · began {began} · agent at work · pid ")


def test_an_ended_run_says_why() -> None:
    record = make_record(ended_at=9.0, outcome="over_budget", why="$1 spent", started_at=0.0)
    first, second = format_run(record, "")
    assert first == "✗ 20261117-120000-abcd  over budget  run"
    assert second.strip().startswith("claude · 2/10 iterations · 1m · $0.50 · began 19")
    assert second.endswith("$1 spent")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"paused_by": "ann"}, ["paused by ann"]),
        ({"question": "Which one?", "task": "T-1"}, ["asks: Which one?", "ralph answer "]),
    ],
)
def test_pauses_and_questions_are_shown(fields: dict[str, object], words: list[str]) -> None:
    shown = "\n".join(format_run(make_record(**fields), "Fix"))
    for text in words:
        assert text in shown


def test_a_run_that_waits_for_a_limit_says_until_when_and_how_to_wake_it() -> None:
    wakes_at = time.time() + 7200
    shown = format_run(make_record(doing="wait", wakes_at=wakes_at), "Fix")[1]
    clock = time.strftime("%H:%M", time.localtime(wakes_at))
    assert f"{clock}; `ralph resume` tries at once" in shown
    assert run_to_dict(make_record(doing="wait", wakes_at=wakes_at))["wakesAt"] == wakes_at


def test_json_has_the_title() -> None:
    assert run_to_dict(make_record(), "Fix")["title"] == "Fix"
