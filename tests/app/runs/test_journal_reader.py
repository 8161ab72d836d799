"""What a run's journal tells of the people who steered it."""

import msgspec

from ralph.app.runs.journal_reader import read_journal
from ralph.model.control import PersonNote
from ralph.model.loop import (
    Began,
    Brief,
    Decision,
    Fact,
    Interrupted,
    Observation,
    PauseLoop,
    RunAgent,
    Waited,
)

NOTES = (
    PersonNote(id=1, text="Use tabs", by="alex"),
    PersonNote(id=2, text="Blue", by="kim", question="Red?"),
)


def make_row(wall: float, fact: Fact, decision: Decision) -> tuple[bytes, bytes]:
    seen = Observation(fact=fact, at=1.0, wall=wall)  # its own clock stands still
    return msgspec.json.encode(seen), msgspec.json.encode(decision)


def test_pauses_and_what_agents_were_told_are_told() -> None:
    first, second = RunAgent(Brief(iteration=1, limit=3)), RunAgent(Brief(iteration=1, limit=3, notes=NOTES))
    book = read_journal(
        [
            make_row(100.0, Began(), first),
            make_row(110.0, Interrupted("", paused=True), PauseLoop("alex")),
            make_row(170.0, Waited(), second),
        ]
    )
    _, stopped, told = book.iterations
    assert (stopped.outcome, stopped.detail) == ("interrupted", "stopped for a pause")
    assert [(each.kind, each.text, each.at, each.seconds) for each in stopped.remarks] == [
        ("paused", "by alex", 110.0, 60.0)
    ]
    assert [(each.kind, each.text) for each in told.remarks] == [
        ("told", "note from alex: Use tabs"),
        ("told", "answer from kim: Blue"),
    ]
