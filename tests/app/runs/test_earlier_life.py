"""What a run that was cut off leaves to the next one of the same work."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from ralph.app.runs.earlier_life import EarlierLife, read_earlier_life
from ralph.core.policies.done_file import DoneFilePolicy
from ralph.core.step import Rules, step
from ralph.engine.journal import Journal
from ralph.model.control import PersonNote
from ralph.model.loop import Began, Fact, Interrupted, Limits, Looked, Observation, Reported
from ralph.model.runs import NewRun, RunOwner
from support.stores import connect

RULES = Rules(DoneFilePolicy(), None)
NOTE = PersonNote(id=1, text="Use tabs", by="alex")
OWNER = RunOwner(pid=1, ticks=1, boot="", guardian=0, guardian_ticks=0)


@pytest.mark.parametrize(
    ("last", "outcome", "pending_notes"),
    [
        (None, "lost", (NOTE,)),
        (Interrupted("SIGTERM"), "interrupted", (NOTE,)),
        (Reported(outcome="unusable"), "unusable", (NOTE,)),
        (Reported(outcome="finished"), "lost", ()),
        (None, "completed", ()),
    ],
)
def test_notes_for_an_agent_that_did_not_come_to_its_end_are_left_to_the_next(
    tmp_path: Path, last: Fact | None, outcome: str, pending_notes: tuple[PersonNote, ...]
) -> None:
    runs = connect(str(tmp_path / "ralph.db")).runs
    run = NewRun(id="r", kind="supervise", folder="/", agent="a", request=b"{}", owner=OWNER, started_at=1.0)
    runs.begin(run)
    journal, state = Journal(runs, "r", agent="a", watchers=()), None
    for fact in (Began(Limits(9)), Looked(), *((last,) if last else ())):
        seen = Observation(fact=fact, notes=(NOTE,) if isinstance(fact, Looked) else ())
        state, decision = step(RULES, state, seen)
        journal.append(seen, state, decision)
    runs.end("r", 2.0, outcome, "")
    found = read_earlier_life(runs, runs.list_latest(1), RULES)
    assert found == replace(EarlierLife(), pending_notes=pending_notes)


def test_a_journal_nobody_can_read_leaves_nothing(tmp_path: Path) -> None:
    runs = connect(str(tmp_path / "ralph.db")).runs
    runs.begin(NewRun(id="r", kind="supervise", folder="/", agent="a", request=b"{}", owner=OWNER, started_at=1.0))
    runs.append(("r", 1, 1.0, 1.0, 1, 9, None, "", msgspec.json.encode({"fact": {"type": "unheard of"}}), b"{}"))
    assert read_earlier_life(runs, runs.list_latest(1), RULES) == EarlierLife()
    assert read_earlier_life(runs, (), RULES) == EarlierLife()
